"""What a program's start-up code hands over, good and bad, built here byte by byte: an error code and a message that
says what is wrong, never a crash. Each case runs in a process of its own.
"""

import ctypes
import os
import struct
import subprocess
import sys
import unittest

PTX = """.version 8.0
.target sm_75
.address_size 64
.visible .entry set(.param .u64 where) {
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [where];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, 4711;
  st.global.u32 [%rd2], %r1;
  ret;
}
"""

KIND_PTX, KIND_MACHINE_CODE = 1, 2


def entry(payload: bytes, kind: int = KIND_PTX, architecture: int = 75, claimed: int | None = None) -> bytes:
    payload += b"\0" * (-len(payload) % 8)
    size = len(payload) if claimed is None else claimed
    header = struct.pack("<HHIQIIIIQQQQ", kind, 0x101, 64, size, 0, 0, 0, architecture, 0x11, 0, 0, 0)
    return header + payload


def fat_binary(*entries: bytes, magic: int = 0xBA55ED50) -> bytes:
    body = b"".join(entries)
    return struct.pack("<IHHQ", magic, 1, 16, len(body)) + body


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


def run_case(data: bytes, wrapper_magic: int, name: str) -> None:
    """Registers, launches, and prints the error's name, or what the kernel wrote."""
    cuda = ctypes.CDLL(os.environ["WARPFOLD_EMULATOR"])
    cuda.cudaGetErrorName.restype = ctypes.c_char_p
    cuda.__cudaRegisterFatBinary.restype = ctypes.c_void_p
    keep = ctypes.create_string_buffer(data, len(data))
    wrapper = ctypes.create_string_buffer(struct.pack("<IIQQ", wrapper_magic, 1, ctypes.addressof(keep), 0), 24)
    handle = ctypes.c_void_p(cuda.__cudaRegisterFatBinary(wrapper))
    host_function = ctypes.create_string_buffer(8)
    cuda.__cudaRegisterFunction(handle, host_function, None, name.encode(), -1, None, None, None, None, None)
    cuda.__cudaRegisterFatBinaryEnd(handle)
    kernel, memory, value = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int(-1)
    cuda.__cudaGetKernel(ctypes.byref(kernel), host_function)
    cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(4))
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
    one = Dim3(1, 1, 1)
    for _ in range(2):  # the second time without a message
        error = cuda.__cudaLaunchKernel(kernel, one, one, arguments, ctypes.c_size_t(0), None)
    if error == 0:
        cuda.cudaMemcpy(ctypes.byref(value), memory, ctypes.c_size_t(4), 2)
        print("wrote", value.value)
    print(cuda.cudaGetErrorName(error).decode())
    cuda.__cudaUnregisterFatBinary(handle)
    print(cuda.cudaGetErrorName(cuda.__cudaGetKernel(ctypes.byref(kernel), host_function)).decode())


def outcome(data: bytes, wrapper_magic: int = 0x466243B1, name: str = "set") -> tuple[list[str], list[str]]:
    result = subprocess.run(
        [sys.executable, __file__, "--case", data.hex(), str(wrapper_magic), name],
        text=True,
        capture_output=True,
        timeout=60,
    )
    if result.returncode != 0:
        raise AssertionError(f"exit status {result.returncode}\n{result.stderr}")
    return result.stdout.splitlines(), result.stderr.splitlines()


class Registration(unittest.TestCase):
    def check(self, data: bytes, error: str, message: str, **options):
        lines, messages = outcome(data, **options)
        self.assertEqual(lines, [error, "cudaErrorInvalidDeviceFunction"])
        self.assertEqual(len(messages), 1, messages)
        self.assertRegex(messages[0], message)

    def test_plain_ptx_runs(self):
        lines, messages = outcome(fat_binary(entry(PTX.encode())))
        self.assertEqual(lines, ["wrote 4711", "cudaSuccess", "cudaErrorInvalidDeviceFunction"])
        self.assertEqual(messages, [])

    def test_the_newest_ptx_is_chosen(self):
        other = PTX.replace("4711", "90").replace("sm_75", "sm_90")
        lines, _ = outcome(fat_binary(entry(PTX.encode()), entry(other.encode(), architecture=90)))
        self.assertEqual(lines[0], "wrote 90")

    def test_machine_code_only(self):
        self.check(
            fat_binary(entry(b"\x7fELF" + b"\0" * 60, KIND_MACHINE_CODE, 90)),
            "cudaErrorNoKernelImageForDevice",
            "sm_90.*code=compute_75",
        )

    def test_no_image(self):
        self.check(fat_binary(), "cudaErrorNoKernelImageForDevice", "no")

    def test_wrapper_of_another_kind(self):
        self.check(fat_binary(entry(PTX.encode())), "cudaErrorInvalidKernelImage", "0x12345678", wrapper_magic=0x12345678)

    def test_fat_binary_of_another_kind(self):
        self.check(fat_binary(entry(PTX.encode()), magic=1), "cudaErrorInvalidKernelImage", "fat binary")

    def test_truncated_entry(self):
        self.check(fat_binary(entry(PTX.encode(), claimed=1 << 40)), "cudaErrorInvalidKernelImage", "ends within an image")

    def test_ptx_that_cannot_be_read(self):
        self.check(
            fat_binary(entry(PTX.replace("mov.u32 %r1,", "mov.u32 %nowhere,").encode())),
            "cudaErrorInvalidPtx",
            "PTX, line 9.*%nowhere",
        )

    def test_kernels_that_ask_for_what_the_launch_is_not(self):
        for directives, error, message in [
            (".reqntid 64", "cudaErrorInvalidValue", r"\(1, 1, 1\).*\(64, 1, 1\) only"),
            (".explicitcluster .reqnctapercluster 2", "cudaErrorInvalidClusterSize", "does not divide into clusters"),
        ]:
            text = PTX.replace("where) {", f"where) {directives} {{").replace("sm_75", "sm_90")
            lines, messages = outcome(fat_binary(entry(text.encode(), architecture=90)))
            self.assertEqual(lines[0], error)
            self.assertRegex(messages[0], message)

    def test_a_kernel_that_is_not_there(self):
        lines, messages = outcome(fat_binary(entry(PTX.encode())), name="absent")
        self.assertEqual(lines[0], "cudaErrorInvalidDeviceFunction")
        self.assertRegex(messages[0], "no kernel named absent")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--case"]:
        run_case(bytes.fromhex(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    else:
        unittest.main()
