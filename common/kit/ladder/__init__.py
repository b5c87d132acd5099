"""All rungs side by side: as a table, as a picture, with predicted times, and with the libraries' times."""
