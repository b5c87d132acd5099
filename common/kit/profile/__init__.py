"""Counts beside the source lines that caused them: from the emulator, and from Nsight Compute on a GPU."""
