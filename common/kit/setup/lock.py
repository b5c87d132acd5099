"""One `kit` at a time changes .kit; a second waits and says so."""

import fcntl
from contextlib import contextmanager

from ..console import say
from ..errors import SETUP, KitError
from ..paths import OWN


@contextmanager
def exclusive():
    """Held by the kernel, so that it ends with the process, however that ends."""
    try:
        OWN.mkdir(exist_ok=True)
        handle = open(OWN / "lock", "w")
    except OSError as error:
        raise KitError(
            f"cannot write to {OWN}: {error.strerror}",
            "kit keeps its build and its tools there. Clone the repository into your own folder.",
            SETUP,
        ) from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another kit is running in this clone; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
