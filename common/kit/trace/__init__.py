"""One block's steps through memory: found in the emulator's trace, described in words, drawn, and made into a page."""
