"""One module for each sub-command, found by its name: commands/status.py is `./kit status`. cli.py says what each contains."""
