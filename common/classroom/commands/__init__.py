"""The commands of `./kit class`, a module for each; kit/cli.py says what such a module holds."""
