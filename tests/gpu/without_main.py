"""A lab's source without its main(), which is what comes last: without_main.py SOURCE RESULT."""

import sys
from pathlib import Path

text, found, _ = Path(sys.argv[1]).read_text().partition("\nint main(")
if not found:
    sys.exit(f"{sys.argv[1]} has no main()")
Path(sys.argv[2]).write_text(text)
