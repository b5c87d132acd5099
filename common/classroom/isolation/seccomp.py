"""A filter of system calls for a sandbox: no new namespaces, mounts, keyrings or traced processes; and, for a student's own program,
no memory that belongs to no process, which no limit of a process would count: not even what waits in a pipe or a socket after its
pages were given away.

It is a classic BPF program (seccomp(2), linux/filter.h, linux/seccomp.h), which bubblewrap loads."""

import platform
import struct

# By architecture: its number (linux/audit.h), and its system calls' numbers.
ARCHITECTURES = {
    "x86_64": 0xC000003E,
    "aarch64": 0xC00000B7,
}
NEVER = {  # name: x86_64, aarch64
    "unshare": (272, 97), "setns": (308, 268), "chroot": (161, 51),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
}  # fmt: skip
UNCOUNTED_MEMORY = {
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "shmat": (30, 196),
    "vmsplice": (278, 75), "splice": (275, 76), "tee": (276, 77), "socket": (41, 198), "socketpair": (53, 199),
    "io_setup": (206, 0), "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180),
}  # fmt: skip
CLONE, CLONE3, MMAP = (56, 220), (435, 435), (9, 222)
NEW_NAMESPACES = 0x7E02_0000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
MAP_SHARED = 0x01
EPERM, ENOSYS = 1, 38
X32 = 0x4000_0000  # on x86_64, numbers from here on are another set of the same calls

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K, ...
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
ALLOWED, REFUSED = 0x7FFF_0000, 0x0005_0000  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO


def program(own_memory_only: bool, machine: str = "") -> bytes | None:
    """The filter; None on a machine whose system calls are not listed. `own_memory_only`: memory is private to its process."""
    machine = machine or platform.machine()
    if machine not in ARCHITECTURES:
        return None
    which = list(ARCHITECTURES).index(machine)
    refused = NEVER | (UNCOUNTED_MEMORY if own_memory_only else {})
    words = [(LOAD, 0, 0, ARCHITECTURE), *unless(EQUAL, ARCHITECTURES[machine], EPERM), (LOAD, 0, 0, NUMBER)]
    if machine == "x86_64":
        words += when(AT_LEAST, X32, EPERM)
    words += when(EQUAL, CLONE3[which], ENOSYS)  # its flags lie in memory; the C library then uses clone
    for numbers in refused.values():
        words += when(EQUAL, numbers[which], EPERM)
    words += when_argument(CLONE[which], 0, NEW_NAMESPACES)
    if own_memory_only:
        words += when_argument(MMAP[which], 3, MAP_SHARED)
    words.append((RETURN, 0, 0, ALLOWED))
    return b"".join(struct.pack("=HBBI", *word) for word in words)


def when(test: int, value: int, error: int) -> list[tuple[int, int, int, int]]:
    return [(test, 0, 1, value), (RETURN, 0, 0, REFUSED | error)]


def unless(test: int, value: int, error: int) -> list[tuple[int, int, int, int]]:
    return [(test, 1, 0, value), (RETURN, 0, 0, REFUSED | error)]


def when_argument(number: int, argument: int, bits: int) -> list[tuple[int, int, int, int]]:
    """Refuses the call if an argument has any of these bits; leaves the call's number loaded."""
    test = [(LOAD, 0, 0, FIRST_ARGUMENT + 8 * argument), *when(ANY_BIT, bits, EPERM), (LOAD, 0, 0, NUMBER)]
    return [(EQUAL, 0, len(test), number), *test]
