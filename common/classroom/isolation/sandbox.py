"""A sandbox (here also called a room) for untrusted programs: bubblewrap, limits, and a watch on time and memory.

Inside there is a read-only system, no network, no home, separate namespaces for processes, users, IPC and names, no
capabilities, no way to new namespaces, an environment of a few variables, and a /tmp of limited size. For root no user
namespace is made: the program runs under a user id of its own that owns nothing, because a limit on processes does not
apply to root.
docs/instructor/threat_model.md says what this does and does not promise."""

import itertools
import os
import re
import selectors
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from kit.errors import SETUP, KitError
from kit.setup import system

from . import control_groups, seccomp

FIRST_USER = 61_000_000  # ids that no distribution assigns
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
FILES = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
MIB = 1 << 20
ROOMS = itertools.count()  # of this process


@dataclass(frozen=True)
class Limits:
    cpu: int = 60  # seconds, of each process
    wall: float = 120
    idle: float | None = None  # seconds in which none of its processes uses any CPU time
    memory: int = 2048 * MIB  # of all processes together: held by a control group, or resident and checked twenty times a second
    address_space: int | None = None  # of each process
    processes: int = 64
    files: int = 256  # open, in each process
    own_memory_only: bool = False  # no memory that is shared or belongs to no process: what limits without a control group do not count
    file: int = 64 * MIB  # the largest file
    tmp: int = 64 * MIB  # all of /tmp; 0: nothing can be written anywhere, since every file takes the kernel's memory
    output: int = 256 * 1024  # of stdout and stderr together; the rest is cut off, and the program is ended


@dataclass
class Outcome:
    code: int  # exit code; negative: the signal
    stdout: bytes
    stderr: bytes
    ended: str  # "" if it ended by itself; else what it used too much of: "time", "idle", "cpu", "memory" or "output"
    started: bool  # whether the room was made and the program started in it
    cpu: float = 0.0
    wall: float = 0.0

    @property
    def said(self) -> str:
        return (self.stderr + self.stdout).decode(errors="replace")


@dataclass
class Room:
    """What a program finds inside the sandbox."""

    read: dict[Path, str] = field(default_factory=dict)  # path on this machine -> path inside, read-only
    write: dict[Path, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    devices: tuple[Path, ...] = ()  # nodes in /dev that it may use; it then finds /sys as well, which drivers read


def why_not() -> str:
    """ "" if a sandbox works here; else what is wrong."""
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed"
    outcome = Sandbox().run(["/bin/true"], Room(), Limits(wall=20))
    if outcome.code == 0 and outcome.started:
        return ""
    return f"bubblewrap cannot make a sandbox here: {outcome.said.strip()[:300] or 'no reason given'}"


def require(unsafe: bool) -> "Sandbox":
    if not unsafe and not shutil.which("bwrap"):
        system.provide([system.SANDBOX])
    reason = why_not()
    if not reason:
        return Sandbox()
    if unsafe:
        return Sandbox(unsafe=True)
    raise KitError(
        f"there is no sandbox, so no student's code is run: {reason}",
        "Install bubblewrap, and allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, or on Ubuntu 24.04 an AppArmor profile for\n"
        "bwrap; in Docker: --security-opt seccomp=unconfined). docs/instructor/threat_model.md says more. --unsafe grades anyway, and\n"
        "every mark says so.",
        SETUP,
    )


class Sandbox:
    """Makes rooms. Safe to use from several threads."""

    def __init__(self, unsafe: bool = False, dropping: bool = False):
        """`dropping`: no namespaces, but a user id for each program, for root in a container that exists for one submission."""
        self.unsafe = unsafe
        self.dropping = dropping
        self.as_root = os.geteuid() == 0
        self.rooms = ROOMS

    def run(self, command: list[str], room: Room, limits: Limits, **options) -> Outcome:
        return self.start(command, room, limits, **options).finish()

    def start(
        self,
        command: list[str],
        room: Room,
        limits: Limits,
        stdin=subprocess.DEVNULL,
        pass_fds: tuple[int, ...] = (),
        trusted: bool = False,
    ) -> "Running":
        """`trusted`: the program is the course's own; if only user ids separate programs, it keeps the user id of this process."""
        if self.unsafe or self.dropping:
            return self.start_unsafe(command, room, limits, stdin, pass_fds, trusted)
        status_read, status_write = os.pipe()
        rules = seccomp.program(limits.own_memory_only)
        calls = descriptor_of(rules) if rules else None
        passed = tuple(each for each in (*pass_fds, status_write, calls) if each is not None)
        try:
            # A user id for each room, so that the processes of one do not count towards the limit of another.
            user = FIRST_USER + os.getpid() % 100_000 * 64 + next(self.rooms) % 64
            for path in room.write:
                if self.as_root:
                    os.chown(path, user, user)
            words = [*self.walls(room, limits), "--json-status-fd", str(status_write)]
            words += [] if calls is None else ["--seccomp", str(calls)]
            words += ["--", *self.inside(limits, user), *command]
            return Running(words, limits, stdin, passed, status_read, in_group=True)
        finally:
            os.close(status_write)
            if calls is not None:
                os.close(calls)

    def walls(self, room: Room, limits: Limits) -> list[str]:
        words = ["bwrap", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"]
        if self.as_root:  # to become another user; dropped with all the others afterwards
            words += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
        else:
            words += ["--unshare-user"]
        words += ["--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "class"]
        for folder in SYSTEM:
            if os.path.islink(folder):
                words += ["--symlink", os.readlink(folder), folder]
            elif os.path.isdir(folder):
                words += ["--ro-bind", folder, folder]
        for parent in parents([*FILES, *room.read.values(), *room.write.values()]):
            words += ["--perms", "0755", "--dir", parent]  # else only root may enter them
        for name in FILES:
            words += ["--ro-bind-try", name, name]
        words += ["--proc", "/proc", "--dev", "/dev", "--dir", "/tmp"]
        if limits.tmp:
            words += ["--perms", "1777", "--size", str(limits.tmp), "--tmpfs", "/tmp", "--size", str(MIB), "--tmpfs", "/dev/shm"]
        for node in room.devices:
            words += ["--dev-bind", str(node), f"/dev/{node.name}"]
        if room.devices:
            words += ["--ro-bind", "/sys", "/sys"]
        for path, inside in room.read.items():
            words += ["--ro-bind", str(path), inside]
        for path, inside in room.write.items():
            words += ["--bind", str(path), inside]
        for secret in ("/proc/keys", "/proc/key-users", "/proc/kcore", "/proc/timer_list"):  # of all processes of this machine
            if os.path.exists(secret):
                words += ["--ro-bind", "/dev/null", secret]
        words += ["--remount-ro", "/dev", "--remount-ro", "/"]  # else they are as large as this machine's memory
        environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/tmp", "TMPDIR": "/tmp"} | room.environment
        for name, value in environment.items():
            words += ["--setenv", name, value]
        return words + ["--chdir", room.folder]

    def inside(self, limits: Limits, user: int) -> list[str]:
        """What runs in the room before the program: it drops all privileges and sets the limits."""
        words = []
        if self.as_root:
            words += [
                "setpriv",
                f"--reuid={user}",
                f"--regid={user}",
                "--clear-groups",
                "--no-new-privs",
                "--inh-caps=-all",
                "--bounding-set=-all",
            ]
        # Kernels before 5.14 count a user's processes across all namespaces, so those that already run count as well.
        others = 0 if self.as_root else tasks_of(os.getuid())
        words += [
            "prlimit",
            f"--cpu={limits.cpu}:{limits.cpu + 2}",
            f"--nproc={limits.processes + others}",
            f"--fsize={limits.file}",
            "--core=0",
            f"--nofile={limits.files}",
        ]
        if limits.address_space:
            words += [f"--as={limits.address_space}"]
        return words

    def start_unsafe(self, command, room: Room, limits: Limits, stdin, pass_fds, trusted: bool) -> "Running":
        """Without namespaces, only limits. Paths inside are translated to those outside."""
        places = {inside: path for path, inside in (room.read | room.write).items()}
        places |= {
            str(Path(inside).parent): path.parent
            for inside, path in places.items()
            if Path(inside).name == path.name and inside.count("/") > 1
        }
        names = sorted(((inside, str(path)) for inside, path in places.items()), key=lambda item: -len(item[0]))

        def outside(word: str) -> str:
            for inside, path in names:
                word = re.sub(rf"(^|[=:]|-I|-L){re.escape(inside)}(?=/|:|$)", lambda found, path=path: found[1] + path, word)
            return word

        environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"} | {name: outside(value) for name, value in room.environment.items()}
        if self.dropping and not trusted:
            user = FIRST_USER + os.getpid() % 100_000 * 64 + next(self.rooms) % 64
            for path in room.write:
                os.chown(path, user, user)
            words = [*self.inside(limits, user), *(outside(word) for word in command)]
            return Running(words, limits, stdin, pass_fds, None, environment, outside(room.folder), user)
        limited = ["prlimit", f"--cpu={limits.cpu}:{limits.cpu + 2}", f"--fsize={limits.file}", "--core=0"]
        return Running([*limited, *(outside(word) for word in command)], limits, stdin, pass_fds, None, environment, outside(room.folder))


def parents(places: list[str]) -> list[str]:
    """The folders above these places, from the top, without those that belong to the system or are made in other ways."""
    above = {str(parent) for place in places for parent in Path(place).parents if str(parent) != "/"}
    return sorted(folder for folder in above if not folder.startswith((*SYSTEM, "/proc", "/dev", "/tmp")))


def descriptor_of(content: bytes) -> int:
    """An open file with this content, at its beginning."""
    descriptor = os.memfd_create("rules")
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def tasks_of(user: int) -> int:
    count = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if os.stat(f"/proc/{name}").st_uid == user:
                    count += len(os.listdir(f"/proc/{name}/task"))
            except OSError:
                pass
    return count


class Running:
    """A program in its room, watched by a separate thread."""

    def __init__(
        self,
        command: list[str],
        limits: Limits,
        stdin,
        pass_fds,
        status: int | None,
        environment=None,
        folder=None,
        user=None,
        in_group: bool = False,
    ):
        self.limits = limits
        self.group = control_groups.make(limits.memory, limits.processes + 8) if in_group else None
        if self.group:
            command = [*self.group.words, *command]
        elif in_group and control_groups.systemd_makes_scopes():
            command = [*control_groups.scope(limits.memory, limits.processes + 8), *command]
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=pass_fds,
            env={"PATH": os.environ.get("PATH", os.defpath)} if environment is None else environment, cwd=folder, start_new_session=True,
        )  # fmt: skip
        self.status = status
        self.ended = ""
        self.user: int | None = user  # whose processes are ended with it
        self.output = {"stdout": bytearray(), "stderr": bytearray(), "status": bytearray()}
        self.cpu = 0.0
        self.code = 0
        self.watcher = threading.Thread(target=self.watch, daemon=True)
        self.watcher.start()

    def end(self, why: str) -> None:
        """Ends the program and everything that it started: they are in a namespace that ends with its first process."""
        self.ended = self.ended or why
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def watch(self) -> None:
        selector = selectors.DefaultSelector()
        selector.register(self.process.stdout, selectors.EVENT_READ, "stdout")
        selector.register(self.process.stderr, selectors.EVENT_READ, "stderr")
        if self.status is not None:
            selector.register(self.status, selectors.EVENT_READ, "status")
        looked, gone, busy = 0.0, None, self.began
        while selector.get_map():
            for key, _ in selector.select(0.05):
                data = os.read(key.fd, 65536)
                if not data:
                    selector.unregister(key.fileobj)
                elif len(self.output[key.data]) < self.limits.output:
                    self.output[key.data] += data
                elif key.data != "status":
                    self.end("output")
            now = time.monotonic()
            # Without a namespace, processes that it left behind may keep its output open for ever.
            if gone is None and os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                gone = now
                self.end_what_it_left()
            if gone is not None and now - gone > 2:
                break
            if now - self.began > self.limits.wall:
                self.end("time")
            if now - looked > 0.05:
                looked = now
                memory, cpu = use_of(self.process.pid)
                if cpu > self.cpu:
                    self.cpu, busy = cpu, now
                if self.limits.idle is not None and now - busy > self.limits.idle:
                    self.end("idle")
                if memory > self.limits.memory:
                    self.end("memory")
        _, status, usage = os.wait4(self.process.pid, 0)
        self.cpu = max(self.cpu, usage.ru_utime + usage.ru_stime)
        self.code = os.waitstatus_to_exitcode(status)
        if self.group:
            if self.group.ran_out_of_memory():
                self.ended = self.ended or "memory"
            self.group.remove()
        self.process.returncode = self.code
        self.process.stdout.close()
        self.process.stderr.close()
        if self.status is not None:
            os.close(self.status)

    def end_what_it_left(self) -> None:
        """Ends every process that runs as the user made for it."""
        if self.user is not None:
            subprocess.run(
                ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups", "kill", "-9", "-1"], capture_output=True
            )

    def finish(self) -> Outcome:
        self.watcher.join()
        code = self.code
        if code > 128 and self.status is not None:  # this is how bubblewrap passes on a signal
            code = 128 - code
        much = code == -signal.SIGXCPU or (code == -signal.SIGKILL and self.cpu > 0.9 * self.limits.cpu)
        ended = self.ended or ("cpu" if much else "")
        output = {name: bytes(data[: self.limits.output]) for name, data in self.output.items()}
        # Their own error messages come before the program's output. A program that forges one is not graded, and the instructor sees it.
        failed = code != 0 and output["stderr"].startswith((b"bwrap: ", b"setpriv: ", b"prlimit: "))
        started = self.status is None or (b'"child-pid"' in output["status"] and not failed)
        return Outcome(code, output["stdout"], output["stderr"], ended, started, self.cpu, time.monotonic() - self.began)


OWN_MEMORY = re.compile(r"^Rss(?:Anon|Shmem):\s*(\d+) kB", re.MULTILINE)
TICKS = os.sysconf("SC_CLK_TCK")


def use_of(pid: int) -> tuple[int, float]:
    """The resident bytes of a process and its descendants (without those of files, but with shared memory), and the CPU seconds
    that they and those that have ended took."""
    memory, ticks, waiting = 0, 0, [pid]
    while waiting:
        each = waiting.pop()
        try:
            with open(f"/proc/{each}/status") as file:
                memory += sum(int(kib) << 10 for kib in OWN_MEMORY.findall(file.read()))
            with open(f"/proc/{each}/stat") as file:
                ticks += sum(map(int, file.read().rpartition(")")[2].split()[11:15]))
            for task in os.listdir(f"/proc/{each}/task"):
                with open(f"/proc/{each}/task/{task}/children") as file:
                    waiting += map(int, file.read().split())
        except (OSError, ValueError, IndexError):
            pass
    return memory, ticks / TICKS
