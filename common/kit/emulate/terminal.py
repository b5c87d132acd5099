"""A program at a terminal, with a line below its output that shows how far the emulator is.

The program gets a terminal of its own, so that the line can be cleared before each thing that it writes. What it reads and its
signals still come from the real one."""

import contextlib
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

from .. import child, console

AFTER = 3.0  # seconds
BETWEEN = 0.2  # seconds between two looks at the emulator's file
ERROR = 2  # the file descriptor


def run(command: list[str], environment: dict[str, str], progress: Path) -> int:
    """Runs the program to its end; the emulator writes to `progress` how far it is. The result is that of Popen.wait."""
    own, programs = os.openpty()
    raw = termios.tcgetattr(ERROR)
    raw[1] &= ~termios.OPOST  # the real terminal turns line feeds into new lines
    termios.tcsetattr(programs, termios.TCSANOW, raw)
    copy_size(own)
    output = programs if os.isatty(1) and os.ttyname(1) == os.ttyname(ERROR) else None
    with subprocess.Popen(command, env=environment, stdout=output, stderr=programs, preexec_fn=child.bound(signal.SIGTERM)) as process:
        os.close(programs)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program receives it too, and decides what to do
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda received, _frame: process.send_signal(received))
        signal.signal(signal.SIGWINCH, lambda *_: copy_size(own))
        relay(own, process, progress)
        os.close(own)
        return process.wait()


def copy_size(own: int) -> None:
    with contextlib.suppress(OSError):
        fcntl.ioctl(own, termios.TIOCSWINSZ, fcntl.ioctl(ERROR, termios.TIOCGWINSZ, b"\0" * 8))


def relay(own: int, process: subprocess.Popen, progress: Path) -> None:
    """Passes on what the program writes, and shows the line while the cursor is at the beginning of one."""
    line, start, shown, last = console.Line(sys.stderr), time.monotonic(), 0.0, b"\n"
    while True:
        has_ended = process.poll() is not None  # asked first: what it has written by then is still passed on
        if select.select([own], [], [], 0 if has_ended else BETWEEN)[0]:
            try:
                part = os.read(own, 1 << 16)
            except OSError:  # all that had this terminal have ended
                break
            line.clear()
            write(part)
            last = part[-1:]
        elif has_ended:
            break
        now = time.monotonic()
        if now - start >= AFTER and now - shown >= BETWEEN and last == b"\n" and not has_ended:
            line.show(f"{console.speaker()}: {words(now - start, progress)}")
            shown = now
    line.clear()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(BETWEEN)


def write(part: bytes) -> None:
    while part:
        part = part[os.write(ERROR, part) :]


def words(seconds: float, progress: Path) -> str:
    """How far the emulator is, as "12 s, 3 launches, 40% of the blocks of what runs now"."""
    try:
        known = json.loads(progress.read_text())
    except (OSError, ValueError):
        return f"{seconds:.0f} s, no CUDA call yet"
    launches = known["launches"]
    said = f"{seconds:.0f} s, {launches:,} launch{'' if launches == 1 else 'es'}"
    if not known["blocks"]:
        return f"{said}, no kernel runs now"
    return f"{said}, {100 * known['blocks_done'] // known['blocks']}% of the blocks of what runs now"
