#!/usr/bin/env python3
"""Time lab 13's rungs beside PyTorch, in one process, and write docs/results/softmax.json.

    nvcc -O3 -std=c++17 -arch=native -Icommon/lab -shared -Xcompiler -fPIC tests/gpu/softmax.cu -o libsoftmax.so
    python3 tests/gpu/softmax.py libsoftmax.so softmax.json

Each time is the median of the runs, with quartiles; a row of the table is measured in turns: one run of each, then
the next. Bytes are those of the matrix, read once and written once. Every result is compared with PyTorch's.
"""

import argparse
import ctypes
import json
import statistics
from pathlib import Path

import torch
import torch._dynamo

ELEMENTS = 1 << 28
COLUMNS = [1 << k for k in range(10, 21)]
RUNS, WARM_UP = 21, 3
SOFTMAX = {"three_reads": 1 << 20, "online": 1 << 20, "kept": 1 << 15, "cluster": 1 << 19, "bulk_copies": 1 << 14, "longest_rows": 1 << 20}
BLOCK = 256
EPSILON = 1e-5


def softmax(matrix):
    return torch.softmax(matrix, -1)


def rms_norm(matrix):
    return torch.nn.functional.rms_norm(matrix, (matrix.shape[-1],), eps=EPSILON)


def called(function, matrix, out):
    def call():
        error = function(matrix.data_ptr(), out.data_ptr(), matrix.shape[0], matrix.shape[1], BLOCK)
        if error:
            raise RuntimeError(f"CUDA error {error}")
        return out

    return call


def ways(library, matrix, out, compiled):
    """Name -> (a call, the function whose result it must have)."""
    kind = {torch.float32: "float32", torch.bfloat16: "bfloat16"}[matrix.dtype]
    columns = matrix.shape[1]
    found = {"copy": (lambda: out.copy_(matrix), lambda each: each)}
    for name, widest in {**SOFTMAX, "rms_norm": 1 << 20}.items():
        function = getattr(library, f"{name}_{kind}", None)
        if function and columns <= widest:
            found[name] = (called(function, matrix, out), rms_norm if name == "rms_norm" else softmax)
    for name, plain in {"softmax": softmax, "rms_norm": rms_norm}.items():
        found[f"torch {name}"] = (lambda plain=plain: plain(matrix), None)
        if compiled:
            fast = torch.compile(plain, dynamic=False)
            found[f"compiled {name}"] = (lambda fast=fast: fast(matrix), None)
    return found


def check(found, matrix):
    for name, (call, reference) in found.items():
        if reference is None:
            continue
        got, expected = call()[:4].double(), reference(matrix[:4].double())
        within = 1e-2 if matrix.dtype == torch.bfloat16 else 1e-4
        if not torch.allclose(got, expected, rtol=within, atol=within * float(expected.abs().mean())):
            raise SystemExit(f"{name}: wrong for {tuple(matrix.shape)}, {matrix.dtype}")


def times(found):
    """Microseconds of each, in turns."""
    runs = {name: [] for name in found}
    for turn in range(WARM_UP + RUNS):
        for name, (call, _) in found.items():
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            call()
            end.record()
            end.synchronize()
            if turn >= WARM_UP:
                runs[name].append(1e3 * begin.elapsed_time(end))
    return runs


def measured(library, dtype, columns, compiled):
    matrix = torch.randn(ELEMENTS // columns, columns, device="cuda").to(dtype)
    out = torch.full_like(matrix, float("nan"))
    found = ways(library, matrix, out, compiled)
    check(found, matrix)
    moved = 2 * matrix.nbytes
    row = {}
    for name, runs in times(found).items():
        low, middle, high = statistics.quantiles(runs, n=4)
        row[name] = {"us": [round(each, 1) for each in (low, middle, high)], "TB/s": round(moved / middle / 1e6, 3)}
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("out")
    parser.add_argument("--columns", type=int, nargs="*", default=COLUMNS)
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out, which takes minutes")
    args = parser.parse_args()
    library = ctypes.CDLL(str(Path(args.library).resolve()))
    for name in [*SOFTMAX, "rms_norm"]:
        for kind in ("float32", "bfloat16"):
            function = getattr(library, f"{name}_{kind}", None)
            if function:
                function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint]
    torch._dynamo.config.recompile_limit = 4 * len(args.columns)  # one program per width
    report = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "elements": ELEMENTS, "tables": {}}
    for dtype in (torch.float32, torch.bfloat16):
        for columns in args.columns:
            row = measured(library, dtype, columns, not args.no_compile)
            report["tables"].setdefault(str(dtype).removeprefix("torch."), {})[columns] = row
            print(columns, dtype, {name: each["TB/s"] for name, each in row.items()}, flush=True)
            with open(args.out, "w") as file:
                json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
