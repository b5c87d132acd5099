"""One submission to one lab: compiled and run in the sandbox, judged by a process in which none of its code runs.

1. The submission's regions, in the pristine file, are compiled in the sandbox: to PTX, and to a program whose CUDA
   runtime only forwards requests (common/classroom/recorder).
2. That program runs in a sandbox. The trusted program, which is the solution's, runs in another; only a socket connects
   the two. The trusted program makes the inputs, has the host functions request launches, performs them with the PTX
   on the emulator, and judges the results (common/lab/run/sandboxed).
3. Its answer comes through a pipe of its own. What any other process prints decides nothing.
4. With `--device gpu`, step 2 is done once more, with the kernels on a GPU, for the rungs that may earn points. A wrong result
   there makes a rung wrong; a right one gives nothing that the emulator's verdict has not given."""

import errno
import fcntl
import hmac
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path

from ..course import version
from ..course.settings import LARGEST_SIZE, Hidden, elements
from ..isolation import gpus
from ..isolation.sandbox import MIB, Limits, Outcome, Room, Running, Sandbox
from ..submission.regions import NotALab, Spliced, splice

COMPILING = Limits(cpu=40, wall=120, memory=3072 * MIB, address_space=8192 * MIB, processes=64, output=64 * 1024)
HOSTING = Limits(
    cpu=60, wall=600, memory=512 * MIB, address_space=1024 * MIB, processes=16, files=64, own_memory_only=True, file=MIB, tmp=0,
    output=16 * 1024,
)  # fmt: skip
JUDGING = Limits(cpu=60, wall=600, idle=60, memory=3072 * MIB, processes=256, tmp=4 * MIB, output=64 * 1024)
# For a rung that is right but off its technique, the page shows what its busiest lines cost.
PROFILED, BUSIEST = 1 << 16, 6
COSTS = ("warp_instructions", "divergent_branches", "global_load_sectors", "bank_conflicts", "atomic_operations", "barriers")
EMULATOR, GPU = DEVICES = ("emulator", "gpu")
# What the CUDA runtime says if it is the machine that fails. A student who provokes it has no points either.
MACHINE_FAILS = re.compile(
    r"cudaError(MemoryAllocation|ECCUncorrectable|HardwareStackError|DevicesUnavailable|DeviceUnavailable|SystemNotReady|NoDevice"
    r"|SystemDriverMismatch|InsufficientDriver|InitializationError|NvlinkUncorrectable|Unknown)\b"
)
# No student's code runs in the trusted program, so nothing there has to be kept off device memory, which would be closed and opened at each
# call. And memory that it frees it soon needs again: without limits on what goes back to the system, a fifth of its time is page faults.
TRUSTED = {
    "WARPFOLD_WORKERS": "1", "WARPFOLD_GUARD_DEVICE_MEMORY": "off",
    "MALLOC_TRIM_THRESHOLD_": str(256 * MIB), "MALLOC_MMAP_THRESHOLD_": str(256 * MIB),
}  # fmt: skip
LARGEST_ELEMENT, GUARDS = 8, MIB  # bytes of an element; and at most those that the lab library adds to an allocation
LACKS_SOMETHING = 77  # the exit code of a lab's program on a machine without what it needs
LARGEST_PTX, LARGEST_PROGRAM, LARGEST_ANSWER = 16 * MIB, 64 * MIB, 32 * MIB


def seed_of(hidden: Hidden, lab: str, text: str) -> int:
    """The seed of the inputs on which this text is judged. Each text has its own: what a verdict says of the numbers cannot be written
    into the next submission, whose numbers are others."""
    digest = hmac.digest(str(hidden.seed).encode(), f"{lab}\0{text}".encode(), "sha256")
    return 1 + int.from_bytes(digest[:8], "big") % (1 << 31)


class NotGraded(Exception):
    """Something failed for which the student is not to blame; the message says what."""


class ToLookAt(NotGraded):
    """The trusted program itself failed. Trying again would meet the same, so that is left to the instructor."""


def key_of(lab: version.Lab, spliced: str, hidden: Hidden, unsafe: bool, device: str = EMULATOR) -> str:
    """Names a result by everything that it depends on."""
    on_gpu = [] if device == EMULATOR else [device]
    settings = json.dumps([asdict(hidden), unsafe, [asdict(limits) for limits in (COMPILING, HOSTING, JUDGING)], *on_gpu], sort_keys=True)
    return version.digest(lab.name.encode(), lab.fingerprint.encode(), spliced.encode(), settings.encode())


def spliced_with(lab: version.Lab, submitted: str) -> Spliced:
    return splice(lab.pristine.read_text(), submitted)


def grade(lab: version.Lab, submitted: str, hidden: Hidden, sandbox: Sandbox, scratch: str = "warpfold-", device: str = EMULATOR) -> dict:
    """The result, ready to be written. Never raises because of what a submission contains. `scratch`: how its folder's name begins."""
    result: dict = {
        "format": version.FORMAT,
        "lab": lab.name,
        "graded": True,
        "why": "",
        "unsafe": sandbox.unsafe,
        "rungs": [],
        "flags": [],
        "cpu_seconds": 0.0,
    }
    try:
        spliced = spliced_with(lab, submitted)
        result["flags"] = spliced.flags
        if spliced.untouched >= set(lab.rungs):
            result["rungs"] = [untouched(rung) for rung in lab.rungs]
            return result
        with tempfile.TemporaryDirectory(prefix=scratch) as folder:
            job = (OpenclJob if lab.is_opencl else Job)(lab, spliced, hidden, sandbox, Path(folder))
            result["rungs"] = [job.final(rung) for rung in job.rungs(device)]
            result["cpu_seconds"] = round(job.cpu, 2)
            result["flags"] = spliced.flags + job.flags
    except NotALab as error:
        result |= {"graded": False, "why": f"the file cannot be taken apart: {error}"}
    except NotGraded as error:
        result |= {"graded": False, "why": str(error), "rungs": [], "to_look_at": isinstance(error, ToLookAt)}
    return result


def needs_no_room(lab: version.Lab, submitted: str) -> bool:
    """Whether the text alone decides the result: it is unchanged, or cannot be taken apart."""
    try:
        return spliced_with(lab, submitted).untouched >= set(lab.rungs)
    except NotALab:
        return True


def untouched(rung: str) -> dict:
    return {"name": rung, "state": "todo", "reason": "unchanged since it was handed out", "checks": [], "hazards": []}


def wrong(rung: str, reason: str) -> dict:
    return {"name": rung, "state": "wrong", "reason": reason, "checks": [], "hazards": []}


class Job:
    may_use_gpu = True

    def __init__(self, lab: version.Lab, spliced: Spliced, hidden: Hidden, sandbox: Sandbox, folder: Path):
        self.lab, self.spliced, self.hidden, self.sandbox, self.folder = lab, spliced, hidden, sandbox, folder
        self.cpu = 0.0
        self.flags: list[str] = []
        folder.chmod(0o711)  # users in the sandbox may pass through it, but not list it
        self.source = folder / lab.file
        self.source.write_text(spliced.text)
        self.inside = f"/labs/{lab.name}/{lab.file}"

    def final(self, rung: dict) -> dict:
        """The rung's entry in the result: an unchanged rung is `todo`, whether it was handed out empty or broken."""
        if rung["name"] in self.spliced.untouched and rung["state"] not in ("pass", "todo"):
            return untouched(rung["name"])
        return rung

    def rungs(self, device: str = EMULATOR) -> list[dict]:
        problem = self.compile()
        if problem:
            return [wrong(rung, problem) for rung in self.lab.rungs]
        results = self.verdicts(list(self.lab.rungs), EMULATOR)
        for name, rung in results.items():
            if rung["state"] == "off-technique":
                rung["busiest"] = self.busiest_lines(name)
        if device == GPU and self.may_use_gpu:
            to_confirm = [name for name, rung in results.items() if rung["state"] not in ("wrong", "todo", "skip")]
            for name, on_gpu in self.verdicts(to_confirm, GPU).items():
                results[name] = confirmed(results[name], on_gpu)
        return [results[rung] for rung in self.lab.rungs]

    def busiest_lines(self, rung: str) -> dict:
        """What the lines of a rung cost that do most, for the page of its student; {} if that cannot be had."""
        try:
            answered, _ = self.judge([rung], ("--profile", f"--n={PROFILED}"))
            profile = answered[0]["profile"] if answered else {}
            lines = [line for launch in profile["report"]["launches"] for line in launch["lines"] if line["file"].endswith(self.lab.file)]
        except (NotGraded, KeyError):
            return {}
        whole: dict[int, Counter] = {}
        for line in lines:
            whole.setdefault(line["line"], Counter()).update({key: line.get(key, 0) for key in COSTS})
        most = sorted(whole, key=lambda number: (-whole[number][COSTS[0]], number))[:BUSIEST]
        return {"n": profile["n"], "lines": {str(number): dict(whole[number]) for number in sorted(most)}}

    def verdicts(self, rungs: list[str], device: str) -> dict[str, dict]:
        results: dict[str, dict] = {}
        alone = False  # after a run without an answer, judge one rung at a time
        while remaining := [rung for rung in rungs if rung not in results]:
            asked = remaining[:1] if alone else remaining
            answered, reason = self.judge(asked, device=device)
            for rung in answered:
                results[rung["name"]] = rung
            if answered:
                continue
            if alone or len(asked) == 1:
                results[asked[0]] = wrong(asked[0], reason)
            alone = True
        return results

    # ---- compiling

    def compile(self) -> str:
        """ "", or what the student reads about a file that does not compile."""
        out = self.folder / "out"
        out.mkdir()
        toolkit = self.lab.nvcc.parent.parent
        headers, recorder = self.copies() if self.sandbox.dropping else (self.lab.headers, self.lab.recorder)
        room = Room(
            read={
                self.source: self.inside,
                **{header: f"/include/{header.name}" for header in headers},
                recorder: "/recorder",
                **outside_system(toolkit),
            },
            write={out: "/out"},
            environment={"PATH": f"{self.lab.nvcc.parent}:/usr/bin:/bin"},
            folder="/out",
        )
        nvcc = [
            str(self.lab.nvcc),
            *self.lab.arguments,
            "-I/include",
            "-c",
            self.inside,
            "-o",
            "/out/student.o",
            "--keep",
            "--keep-dir",
            "/out",
        ]
        compiled = self.run(nvcc, room, COMPILING)
        if compiled.code != 0 or compiled.ended:
            return self.why_not_compiled(compiled)
        linked = self.run(["c++", "-o", "/out/student", "/out/student.o", "/recorder/liblab_recorder.a"], room, COMPILING)
        if linked.code != 0 or linked.ended:
            return self.why_not_linked(linked)
        self.keep(out / f"{Path(self.lab.file).stem}.ptx", self.folder / "kernels.ptx", LARGEST_PTX)
        self.keep(out / "student", self.folder / "student", LARGEST_PROGRAM)
        (self.folder / "student").chmod(0o755)
        wait_for_writers(self.folder / "student")
        shutil.rmtree(out, ignore_errors=True)
        return ""

    def copies(self) -> tuple[tuple[Path, ...], Path]:
        """Copies of what the compiler needs from the course, where another user may read them; the course itself is closed to that user."""
        include, recorder = self.folder / "include", self.folder / "recorder"
        include.mkdir()
        headers = tuple(Path(shutil.copy(header, include)) for header in self.lab.headers)
        shutil.copytree(self.lab.recorder, recorder)
        return headers, recorder

    def run(self, command: list[str], room: Room, limits: Limits) -> Outcome:
        outcome = self.sandbox.run(command, room, limits)
        self.cpu += outcome.cpu
        if not outcome.started:
            raise NotGraded(f"the sandbox could not be made: {outcome.said.strip()[:500]}")
        return outcome

    def why_not_compiled(self, outcome: Outcome) -> str:
        if outcome.ended == "time":
            raise NotGraded(f"the compiler did not finish within {COMPILING.wall:.0f} s: is this machine busy with other work?")
        if outcome.ended:
            return f"does not compile: the compiler was ended because it used too much {resource_name(outcome.ended)}"
        said = self.readable(outcome.said)
        if outcome.code == LACKS_SOMETHING:
            raise NotGraded(f"what compiles this lab is not on this machine: {said.strip()[-1000:]}")
        errors = [line for line in said.splitlines() if "error" in line.lower()]
        if not errors:
            raise NotGraded(f"the compiler ended with code {outcome.code} and named no error\n{said[-1000:]}")
        return f"does not compile: {errors[0][:400]}"

    def why_not_linked(self, outcome: Outcome) -> str:
        missing = sorted(
            {
                line.partition("undefined reference to `")[2].rstrip("'")
                for line in outcome.said.splitlines()
                if "undefined reference to `" in line
            }
        )
        runtime = [name for name in missing if name.startswith(("cuda", "__cuda", "cu"))]
        if runtime:
            raise NotGraded(f"the host code calls {', '.join(runtime)[:300]}, which the grader does not support: look at it by hand")
        if outcome.ended == "time" or not outcome.said:
            raise NotGraded(f"the linker ended with code {outcome.code}")
        return f"does not link: {self.readable(outcome.said).strip().splitlines()[-1][:400]}"

    def readable(self, text: str) -> str:
        """A compiler's output, with the paths that the student knows, and without control characters."""
        text = text.replace(str(self.source), self.inside).replace("/labs/", "labs/")
        return "".join(character if character.isprintable() or character == "\n" else "?" for character in text)

    @staticmethod
    def keep(found: Path, kept: Path, largest: int) -> None:
        """Copies a file from a folder that the sandbox could write to; refuses links, pipes and files that are too large."""
        try:
            handle = os.open(found, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise NotGraded(f"the compiler left no {found.name}: {error.strerror}") from error
        with open(handle, "rb") as file:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode) or about.st_size > largest:
                raise NotGraded(f"{found.name} is not a regular file of at most {largest} bytes")
            kept.write_bytes(file.read(largest + 1))

    # ---- judging

    def judge(self, rungs: list[str], more: tuple[str, ...] = (), device: str = EMULATOR) -> tuple[list[dict], str]:
        """What the trusted program says about these rungs, or about the first of them; or nothing, and what to say about the first.
        `more`: further options for the trusted program."""
        with gpus.taken() if device == GPU else nullcontext(()) as nodes:
            return self.judge_with(nodes, rungs, more, device)

    def room_of_judge(self, nodes: tuple[Path, ...]) -> Room:
        """For the trusted program. `nodes`: of its GPU, if it has one; its CUDA runtime is then NVIDIA's."""
        if nodes and self.lab.runtime is None:
            raise NotGraded("NVIDIA's own CUDA runtime was not found beside the compiler, and a GPU needs it")
        runtime, inside = (self.lab.runtime, "/runtime") if nodes else (self.lab.emulator, "/emulator")
        environment = {"LD_LIBRARY_PATH": ":".join([inside, *map(str, self.lab.libraries)])}
        if nodes:
            environment["CUDA_CACHE_DISABLE"] = "1"  # what the driver compiles is kept nowhere
            if self.sandbox.unsafe:  # where it sees them all
                environment |= {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": str(gpus.number_of(nodes[0]))}
        else:
            environment |= {"WARPFOLD_EMULATOR_DIR": "/emulator"} | TRUSTED
        return Room(
            read={
                self.lab.program: "/course/program",
                runtime: inside,
                self.folder / self.kept_code: f"/course/{self.kept_code}",
                self.source: self.inside,
                **{folder: str(folder) for folder in self.lab.libraries},
            },
            environment=environment,
            devices=nodes,
        )

    kept_code = "kernels.ptx"  # what the compiler made of the kernels

    def words_of_code(self) -> list[str]:
        """The trusted program's options for the student's code: the descriptor of its host, and the file of its kernels."""
        return ["--host=0", f"--device-code=/course/{self.kept_code}"]

    @contextmanager
    def host(self) -> Iterator[tuple[Running | None, socket.socket | int]]:
        """The student's host code, running in its own room, and the other end of its connection."""
        theirs, ours = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, ours:
            yield (
                self.sandbox.start(["/student/program"], Room(read={self.folder / "student": "/student/program"}), HOSTING, stdin=theirs),
                ours,
            )

    def hidden_arguments(self) -> int:
        """A pipe with the seed and the hidden sizes: everybody on a machine may read its command lines, and in a container without a
        sandbox that includes the student's program."""
        read, write = os.pipe()
        with open(write, "w") as pipe:
            pipe.write(" ".join([str(seed_of(self.hidden, self.lab.name, self.spliced.text)), *self.hidden.sizes]))
        return read

    def judge_with(self, nodes: tuple[Path, ...], rungs: list[str], more: tuple[str, ...], device: str) -> tuple[list[dict], str]:
        trusted_room = self.room_of_judge(nodes)
        answer_read, answer_write = os.pipe()
        command = ["/course/program", "--json", f"--device={device}", f"--answer={answer_write}", f"--source={self.inside}"]
        if device == GPU:
            command.append("--time")
        hidden = self.hidden_arguments()
        command += [*self.words_of_code(), f"--hidden={hidden}", *(f"--rung={rung}" for rung in rungs), *more]
        try:
            with self.host() as (host, ours):
                trusted = self.sandbox.start(command, trusted_room, JUDGING, stdin=ours, pass_fds=(answer_write, hidden), trusted=True)
        finally:
            os.close(answer_write)
            os.close(hidden)
        with open(answer_read, "rb") as pipe:
            text = pipe.read(LARGEST_ANSWER + 1)
        judged = trusted.finish()
        hosted = Outcome(0, b"", b"", "", started=True)
        if host:
            host.end("over")  # nothing of it outlives the verdict
            hosted = host.finish()
        self.cpu += judged.cpu + hosted.cpu
        if not judged.started or not hosted.started:
            raise NotGraded(f"the sandbox could not be made: {(judged.said if not judged.started else hosted.said).strip()[:500]}")
        if judged.code in (0, 1, LACKS_SOMETHING) and not judged.ended and text:
            return self.read_answer(text, rungs), ""
        return [], self.why_no_answer(judged, hosted)

    def read_answer(self, text: bytes, asked: list[str]) -> list[dict]:
        try:
            answer = printable(
                json.loads(
                    text.decode()
                    .replace(str(self.source), f"labs/{self.lab.name}/{self.lab.file}")
                    .replace(f"/labs/{self.lab.name}/", f"labs/{self.lab.name}/")
                )
            )
            rungs = answer["rungs"]
        except (ValueError, KeyError) as error:
            raise NotGraded(f"the answer of the trusted program cannot be read: {error}") from error
        if [rung["name"] for rung in rungs] != asked[: len(rungs)] or not rungs:
            raise NotGraded("the trusted program answered for other rungs than those it was asked about")
        for rung in rungs:
            if rung["state"] == "wrong" and lacks_room_for_input(rung["reason"], self.hidden):
                raise NotGraded(f"this machine has too little memory for the input of {rung['name']}: {rung['reason']}")
        if answer.get("device", {}).get("kind") == GPU:
            for rung in rungs:
                rung["device"] = answer["device"]["name"]
        return rungs

    def why_no_answer(self, judged: Outcome, hosted: Outcome) -> str:
        if judged.code == LACKS_SOMETHING:
            raise NotGraded(f"no GPU could be used in the sandbox: {judged.said.strip()[:300]}")
        if judged.ended in ("cpu", "memory"):
            if most_elements(self.hidden) > LARGEST_SIZE:
                raise NotGraded(
                    f"a hidden size is larger than {LARGEST_SIZE}, and the input alone may need too much {resource_name(judged.ended)}"
                )
            return f"the kernels were ended: they used too much {resource_name(judged.ended)}"
        if judged.ended == "output":
            return "the kernels print endlessly"
        if judged.ended == "idle":
            raise ToLookAt(f"look at it: the trusted program did nothing for {JUDGING.idle:.0f} s")
        if judged.code < 0 and not judged.ended:
            raise ToLookAt(f"look at it: the trusted program was ended by {signal.Signals(-judged.code).name}")
        if judged.ended == "time":
            raise NotGraded(
                f"not finished within {JUDGING.wall:.0f} s, although the CPU time was not used up: is this machine busy with other work?"
            )
        if hosted.ended in ("cpu", "memory", "output"):
            return f"the host code was ended: it used too much {resource_name(hosted.ended)}"
        if judged.code == 1 and "host function does not end" in judged.said:
            return "the program does not start: something before main() does not end"
        if judged.code == 1 and "host function ended the program" in judged.said:
            return "the program ends before it has run a host function"
        if judged.code == 1 and "in the sandbox" in judged.said:
            return "the program does not behave like a lab's program"
        raise NotGraded(f"the trusted program ended with code {judged.code} and gave no answer: {judged.said.strip()[-500:]}")


class OpenclJob(Job):
    """Of kernels in OpenCL C, whose host functions are the course's own. The driver compiles in the first sandbox, and keeps what its
    compiler made; the trusted program's driver takes that, and runs no compiler."""

    may_use_gpu = False  # which would need its maker's OpenCL driver, whose compiler is in the process that judges
    kept_code = "translations"

    def compile(self) -> str:
        out = self.folder / "out"
        out.mkdir()
        program, emulator = self.lab.program, self.lab.emulator
        if self.sandbox.dropping:
            program = Path(shutil.copy(program, self.folder / "program"))
            emulator = Path(shutil.copytree(emulator, self.folder / "emulator"))
        room = Room(
            read={
                self.source: self.inside,
                program: "/course/program",
                emulator: "/emulator",
                **self.driver(),
                **{folder: str(folder) for folder in self.lab.libraries},
            },
            write={out: "/out"},
            environment={
                "LD_LIBRARY_PATH": ":".join(["/emulator", *map(str, self.lab.libraries)]),
                "WARPFOLD_EMULATOR_DIR": "/emulator",
                "WARPFOLD_OPENCL_KEEP": f"/out/{self.kept_code}",
            },
        )
        # The emulator reserves more addresses than there is memory.
        limits = replace(COMPILING, address_space=None)
        compiled = self.run(["/course/program", "--device=emulator", f"--source={self.inside}", "--compile-only"], room, limits)
        if "OpenCL C is compiled with Clang and libclc" in compiled.said:
            raise NotGraded(f"this machine lacks the compiler: {compiled.said.strip().splitlines()[-1]}")
        if compiled.code != 0 or compiled.ended:
            return self.why_not_compiled(compiled)
        self.keep(out / self.kept_code, self.folder / self.kept_code, LARGEST_PTX)
        shutil.rmtree(out, ignore_errors=True)
        return ""

    def driver(self) -> dict[Path, str]:
        """A folder for OpenCL's loader, over the emulator's own, which names the driver by its path outside the sandbox."""
        vendors = self.folder / "vendors"
        vendors.mkdir(exist_ok=True)
        (vendors / "warpfold.icd").write_text("/emulator/libwarpfold_opencl.so\n")
        return {vendors: "/emulator/opencl-vendors"}

    def room_of_judge(self, nodes: tuple[Path, ...]) -> Room:
        room = super().room_of_judge(nodes)
        room.read |= self.driver()
        room.environment |= {"WARPFOLD_OPENCL_KEPT": f"/course/{self.kept_code}"}
        return room

    def words_of_code(self) -> list[str]:
        return []

    @contextmanager
    def host(self) -> Iterator[tuple[Running | None, socket.socket | int]]:
        yield None, subprocess.DEVNULL


def most_elements(hidden: Hidden) -> int:
    """Of the largest hidden input; 0 if there is none."""
    return max((elements(size) or 0 for size in hidden.sizes), default=0)


def lacks_room_for_input(reason: str, hidden: Hidden) -> bool:
    """Whether a run failed because memory for no more than an input could not be allocated. What a student's own code asks for beyond that
    is the student's mistake."""
    found = re.search(r"cannot allocate (\d+) bytes of device memory", reason)
    return bool(found) and int(found[1]) <= LARGEST_ELEMENT * max(LARGEST_SIZE, most_elements(hidden)) + GUARDS


def confirmed(rung: dict, on_gpu: dict) -> dict:
    """The emulator's verdict with what the GPU says to it. The GPU can take points away but not give any, so a kernel that took over
    the process in which it ran there would gain nothing."""
    name = on_gpu.get("device", "GPU")
    if on_gpu["state"] in ("skip", "todo"):
        return rung
    if on_gpu["state"] != "wrong":
        return rung | {"gpu": {"device": name, "time": on_gpu.get("time")}}
    if MACHINE_FAILS.search(on_gpu["reason"]):
        raise NotGraded(f"the GPU ({name}) failed: {on_gpu['reason']}")
    reason = f"on the GPU ({name}): {on_gpu['reason']}"
    return on_gpu | {"reason": reason, "hazards": rung["hazards"], "gpu": {"device": name, "time": None}, "on_emulator": rung["state"]}


def wait_for_writers(program: Path) -> None:
    """Until no process has the file open to write, since the system executes none that has. A process that another thread has just
    begun holds what this one was writing until it executes a program of its own."""
    with open(program, "rb") as file:
        for _ in range(400):
            try:
                fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)  # which is refused while somebody writes
                fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
                return
            except OSError as error:
                if error.errno != errno.EAGAIN:
                    return  # a file system without leases
                time.sleep(0.025)


def printable(value):
    """The same value with every string made safe to show, as the student chooses names such as those of kernels; and without
    addresses, which differ between runs, so that a result is always the same."""
    if isinstance(value, dict):
        return {key: printable(each) for key, each in value.items()}
    if isinstance(value, list):
        return [printable(each) for each in value]
    if isinstance(value, str):
        value = re.sub(r"0x[0-9a-f]{6,}", "an address", re.sub(r" at 0x[0-9a-f]+", "", value))
        return "".join(character if character.isprintable() or character == "\n" else "?" for character in value)
    return value


def resource_name(ended: str) -> str:
    return {"cpu": "CPU time", "memory": "memory", "output": "output", "time": "time"}[ended]


def outside_system(folder: Path) -> dict[Path, str]:
    """The path of a toolkit that is outside the system's folders."""
    return {} if str(folder).startswith("/usr/") else {folder: str(folder)}
