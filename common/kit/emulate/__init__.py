"""The reader's own programs: which of them the emulator can run, and how."""
