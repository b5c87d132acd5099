"""One block's steps through memory: found in the emulator's trace, told in words, drawn, and made a page."""
