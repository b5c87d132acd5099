"""Programs that never outlive the kit: whatever ends it, even SIGKILL, ends them."""

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable

PR_SET_PDEATHSIG = 1  # of Linux's prctl: the signal that a process gets when the one that started it is gone
GRACE = 2.0  # seconds that a program has to report what it has found

try:
    _PRCTL = ctypes.CDLL(None).prctl
except (OSError, AttributeError):  # not Linux
    _PRCTL = None


def bound(signal_number: int = signal.SIGKILL) -> Callable[[], None] | None:
    """For Popen's preexec_fn: the child gets the signal when the thread that starts it ends, so start it from one that
    waits for it."""
    if _PRCTL is None:
        return None
    parent = os.getpid()

    def bind() -> None:
        _PRCTL(PR_SET_PDEATHSIG, int(signal_number), 0, 0, 0)
        if os.getppid() != parent:  # the parent ended before the line above
            os._exit(128 + signal_number)

    return bind


class Child:
    """A program in a process group of its own, whose output is read as it comes."""

    def __init__(self, command: list[str], environment: dict[str, str]):
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True, preexec_fn=bound(),
        )  # fmt: skip
        self.output = self.process.stdout.fileno()
        os.set_blocking(self.output, False)
        self._rest = b""
        self.at_end = False  # of its output

    def lines(self) -> list[str]:
        """The complete lines that have arrived since the last call; at the end, the rest as well."""
        try:
            while part := os.read(self.output, 1 << 16):
                self._rest += part
            self.at_end = True
        except BlockingIOError:
            pass
        *whole, self._rest = self._rest.split(b"\n")
        if self.at_end and self._rest:
            whole, self._rest = [*whole, self._rest], b""
        return [line.decode(errors="replace") for line in whole]

    def stop(self) -> None:
        """Asks the program to end and, if it does not, kills it with everything that it has started."""
        if self.process.poll() is None:
            self._signal(signal.SIGTERM)
            try:
                self.process.wait(GRACE)
            except subprocess.TimeoutExpired:
                pass
        self._signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self.process.pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def how_it_ended(code: int) -> str:
    """Says in words which signal ended a program; "" if none did."""
    if code >= 0:
        return ""
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    if -code == signal.SIGSEGV:
        return f"the program ended with {name}: code on the host read or wrote memory that it must not access, perhaps device memory"
    return f"the program ended with {name}"
