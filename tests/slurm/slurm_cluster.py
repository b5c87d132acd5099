"""A Slurm cluster of one machine: munged, slurmctld, and a slurmd for each of a few nodes, all in a folder and all ended with it.

A node may have GPUs as far as Slurm knows: it hands them out through CUDA_VISIBLE_DEVICES, which emulated devices heed as well.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "sinfo")
PACKAGES = "munge slurmctld slurmd slurm-client"
SEARCH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def missing() -> list[str]:
    return [name for name in PROGRAMS if not shutil.which(name, path=SEARCH)]


def free_ports(count: int) -> list[int]:
    """Ports that nobody has at this moment."""
    held = [socket.socket() for _ in range(count)]
    try:
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in held]
    finally:
        for each in held:
            each.close()


class Cluster:
    def __init__(self, folder: Path, nodes: int = 2, cpus: int = 1, gpus: int = 0):
        """So many CPUs and GPUs a node, whatever the machine has."""
        self.folder = folder
        self.cpus, self.gpus = cpus, gpus
        self.nodes = [f"node{number}" for number in range(1, nodes + 1)]
        self.environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": SEARCH}
        self.running: dict[str, subprocess.Popen] = {}
        self.configure()

    def configure(self) -> None:
        user = pwd.getpwuid(os.geteuid()).pw_name
        control, *ports = free_ports(1 + len(self.nodes))
        (self.folder / "state").mkdir(parents=True)
        (self.folder / "munge").mkdir()
        (self.folder / "munge" / "key").write_bytes(os.urandom(1024))
        (self.folder / "munge" / "key").chmod(0o600)
        lines = [
            "ClusterName=warpfold", "SlurmctldHost=localhost(127.0.0.1)", f"SlurmctldPort={control}", f"SlurmUser={user}", f"SlurmdUser={user}",
            "AuthType=auth/munge", f"AuthInfo=socket={self.folder}/munge/socket", "CryptoType=crypto/munge",
            "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "AccountingStorageType=accounting_storage/none",
            "JobAcctGatherType=jobacct_gather/none", "SelectType=select/cons_tres", "SelectTypeParameters=CR_CPU", "MpiDefault=none",
            "ReturnToService=2", "SlurmdTimeout=10", "InactiveLimit=0", "KillWait=2", "SlurmdParameters=config_overrides", "SwitchType=switch/none",
            # PMIx keeps a folder here that bears the job's number alone: of each node its own.
            f"TmpFS={self.folder}/%n", "GresTypes=gpu", f"StateSaveLocation={self.folder}/state", f"SlurmdSpoolDir={self.folder}/%n", f"SlurmctldPidFile={self.folder}/slurmctld.pid",
            f"SlurmdPidFile={self.folder}/%n.pid", f"SlurmctldLogFile={self.folder}/slurmctld.log", f"SlurmdLogFile={self.folder}/%n.log",
            *(f"NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs={self.cpus} Gres=gpu:{self.gpus} State=UNKNOWN"
              for name, port in zip(self.nodes, ports, strict=True)),
            f"PartitionName=main Nodes={','.join(self.nodes)} Default=YES MaxTime=60 State=UP",
        ]  # fmt: skip
        (self.folder / "slurm.conf").write_text("\n".join(lines) + "\n")
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        for name in self.nodes:
            (self.folder / name).mkdir()
        self.make_gpus()

    def make_gpus(self) -> None:
        """Slurm counts files, and takes a GPU's number from its file's name."""
        files = [self.folder / f"gpu{number}" for number in range(self.gpus)]
        for file in files:
            file.symlink_to(os.devnull)
        lines = [f"NodeName={name} Name=gpu File={self.folder}/gpu[0-{self.gpus - 1}]\n" for name in self.nodes if files]
        (self.folder / "gres.conf").write_text("".join(lines))

    def __enter__(self) -> "Cluster":
        try:
            munge = self.folder / "munge"
            self.start(
                "munged", "--foreground", "--force", "--num-threads=2", f"--key-file={munge}/key", f"--socket={munge}/socket",
                f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed",
            )  # fmt: skip
            self.wait(lambda: (munge / "socket").exists(), "munged")
            self.start("slurmctld", "-D", "-i", "-f", str(self.folder / "slurm.conf"))
            for name in self.nodes:
                self.start("slurmd", "-D", "-N", name, "-f", str(self.folder / "slurm.conf"), called=name)
            self.wait(lambda: self.said("sinfo", "-h", "-N", "-o", "%T").split() == ["idle"] * len(self.nodes), "the nodes")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        for process in reversed(self.running.values()):
            process.send_signal(signal.SIGTERM)
        for process in self.running.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for pid in self.processes("SLURM_CONF", str(self.folder / "slurm.conf")):  # what jobs left
            end(pid)

    def start(self, program: str, *words: str, called: str = "") -> None:
        with open(self.folder / f"{called or program}.said", "wb") as said:
            self.running[called or program] = subprocess.Popen(
                [shutil.which(program, path=SEARCH), *words], env=self.environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )

    def wait(self, condition, what: str, patience: float = 60) -> None:
        until = time.monotonic() + patience
        while not condition():
            ended = [name for name, process in self.running.items() if process.poll() is not None]
            if ended or time.monotonic() > until:
                raise RuntimeError(f"{what} did not come up{f'; {ended} ended' if ended else ''}\n{self.logs()}")
            time.sleep(0.1)

    def batch(
        self, script: Path, *options: str, arguments: tuple[str, ...] = (), patience: float = 120, **variables: str
    ) -> tuple[int, str, str]:
        """Submits a script and waits for its end: the exit code, and what it wrote to stdout and stderr."""
        out, err = (Path(tempfile.mkstemp(prefix="job.", dir=self.folder)[1]) for _ in range(2))
        command = ["sbatch", "--wait", "--quiet", f"--output={out}", f"--error={err}", *options, str(script), *arguments]
        job = subprocess.run(command, env=self.environment | variables, text=True, capture_output=True, timeout=patience)
        return job.returncode, out.read_text(errors="replace"), err.read_text(errors="replace") + job.stderr

    def said(self, *command: str) -> str:
        return subprocess.run(command, env=self.environment, text=True, capture_output=True).stdout

    def logs(self) -> str:
        files = sorted([*self.folder.glob("*.log"), *self.folder.glob("*.said"), *self.folder.glob("munge/log")])
        return "\n".join(f"{path.name}: {path.read_text(errors='replace')[-1500:]}" for path in files)

    def lose(self, node: str) -> int:
        """Ends a node as a power cut would: its slurmd and all that runs on it. Returns how many processes of jobs that were."""
        self.running.pop(node).kill()
        ended = 0
        while left := self.processes("SLURMD_NODENAME", node):
            ended += len(left)
            for pid in left:
                end(pid)
        return ended

    @staticmethod
    def processes(name: str, value: str) -> list[int]:
        """Whose environment says this."""
        wanted, found = f"{name}={value}".encode(), []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if int(path.name) != os.getpid() and wanted in (path / "environ").read_bytes().split(b"\0"):
                    found.append(int(path.name))
            except OSError:
                pass
        return found


def end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
