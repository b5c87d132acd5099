"""The `kit` command: sets up what a command needs, builds, and shows what the programs report."""
