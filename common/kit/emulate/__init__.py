"""Programs of the reader's own: which of them the emulator can run, and how."""
