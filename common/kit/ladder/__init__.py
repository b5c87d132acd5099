"""All rungs beside each other: as a table, as a picture, with predicted times, and with the libraries' times."""
