"""What a compiler says is shown in the order in which it helps."""

import re
import tempfile
import unittest
from pathlib import Path

import support
from kit.programs import advice, messages, ninja

HEADER_FIRST = """/usr/local/cuda/include/sm_20_atomic_functions.hpp(75): note #3326-D: function "atomicAdd(float *, float)" does not match because argument #1 does not match parameter
  static __inline__ __attribute__((device)) float atomicAdd(float *address, float val)
                                                  ^
/usr/local/cuda/include/device_atomic_functions.h(12): error: identifier "x" is undefined

../../labs/01_naive_atomic/naive_atomic.cu(13): error: no instance of overloaded function "atomicAdd" matches the argument list
            argument types are: (const float, float)
    if (i < n) atomicAdd(result[0], input[i]);
               ^

../../labs/01_naive_atomic/naive_atomic.cu(12): warning #549-D: variable "sum" is used before its value is set
    sum += 1;
    ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

2 errors detected in the compilation of "../../labs/01_naive_atomic/naive_atomic.cu".
"""


class Messages(unittest.TestCase):
    def test_the_students_line_comes_first_and_the_headers_notes_last(self):
        lines = messages.ordered(HEADER_FIRST).splitlines()
        self.assertIn("naive_atomic.cu(13): error: no instance", lines[0])
        self.assertIn("argument types are", lines[1])
        order = [
            next(i for i, line in enumerate(lines) if text in line)
            for text in ("(13): error", "h(12): error", "#549-D", "#3326-D", "2 errors")
        ]
        self.assertEqual(order, sorted(order))
        self.assertEqual(sorted(line for line in lines if line), sorted(line.replace("../../labs", "labs") for line in HEADER_FIRST.splitlines() if line),
                         "nothing is lost")  # fmt: skip

    def test_the_host_compilers_messages_too(self):
        said = ("In file included from ../labs/10_opencl/opencl.cpp:3:\n/usr/include/x.h:7:1: note: declared here\n"
                "../labs/10_opencl/opencl.cpp:9:3: error: 'y' was not declared\n    9 |   y;\n")  # fmt: skip
        lines = messages.ordered(said).splitlines()
        self.assertIn("opencl.cpp:9:3: error", lines[0])
        self.assertEqual(lines[2:], ["In file included from labs/10_opencl/opencl.cpp:3:", "/usr/include/x.h:7:1: note: declared here"])

    def test_a_build_that_fails_shows_them_so(self):
        error = ninja.BuildFailed(f"FAILED: labs/01_naive_atomic\nnvcc -c\n{HEADER_FIRST}ninja: build stopped\n")
        self.assertIn("naive_atomic.cu(13): error", error.said.splitlines()[0])

    def test_warnings_about_the_students_file_only(self):
        self.assertEqual(messages.warnings(HEADER_FIRST).splitlines()[0],
                         'labs/01_naive_atomic/naive_atomic.cu(12): warning #549-D: variable "sum" is used before its value is set')  # fmt: skip
        self.assertEqual(messages.warnings(HEADER_FIRST * 2), messages.warnings(HEADER_FIRST), "each is told once")
        self.assertNotIn("Remark", messages.warnings(HEADER_FIRST))
        self.assertEqual(messages.warnings("/usr/include/x.h(3): warning #1: y\n"), "")

    def test_an_error_of_a_template_is_shown_once(self):
        said = messages.ordered(OF_A_TEMPLATE)
        self.assertEqual(said.count('error: no instance of overloaded function "__shfl_down_sync"'), 1, said)
        self.assertEqual(said.count("argument types are"), 1, said)

    def test_a_long_list_of_functions_is_one_line(self):
        said = messages.ordered(CANDIDATES)
        self.assertNotIn("note #3326-D", said)
        self.assertIn("The call matches none of these: atomicAdd(float4 *, float4); atomicAdd(float2 *, float2); "
                      "atomicAdd(double *, double); and 1 more", said)  # fmt: skip

    def test_the_students_line_is_shown_as_it_was_written(self):
        line, caret = messages.ordered(PASTED).splitlines()[1:3]
        self.assertEqual(line, "  __global__ void sum(const float* input) {")
        self.assertEqual(line[caret.index("^")], "{")

    def test_errors_in_headers_are_few(self):
        many = "".join(f"/usr/include/x.h({line}): error: namespace definition is not allowed\n" for line in range(9))
        said = messages.of_lab(messages.ordered(many))
        self.assertEqual(said.count("x.h("), messages.MOST_OF_HEADERS)
        self.assertIn("(6 more errors in headers are left out)", said)


OF_A_TEMPLATE = "".join(
    f"""../../labs/04_shuffle/shuffle.cu(22): error: no instance of overloaded function "__shfl_down_sync" matches the argument list
            argument types are: ({name}, int)
  value += __shfl_down_sync(value, d);
           ^
/usr/local/cuda/include/x.h(1): note #3322-D: number of parameters of function "__shfl_down_sync(unsigned)" does not match the call
          detected during instantiation of "T shuffle_sum(T) [with T={name}]" at line {line}

"""
    for name, line in (("float", 36), ("int", 63))
)
CANDIDATES = (
    '../../labs/07_precision/precision.cu(21): error: no instance of overloaded function "atomicAdd" matches the argument list\n'
    + "".join(
        f'/usr/local/cuda/include/x.h(1): note #3326-D: function "atomicAdd({name} *, {name})" does not match because argument #1 does not match '
        f"parameter\n  static {name} atomicAdd({name} *address, {name} val) {{ }}\n         ^\n"
        for name in ("float4", "float2", "double", "float")
    )
)
PASTED = """../../labs/02_tree/tree.cu(5): error: expected a ";"
  __attribute__((global)) void sum(const float* input) {
                                                       ^
"""
FILE = """#include "lab.hpp"
// A brace in a comment, { and a "string {" count for nothing.
__global__ void sum_kernel(const float* input, float* result, unsigned n) {
  // BEGIN sequential
{region}
  // END sequential
  *result = input[0];
}
int main() {}
"""


def error(line: int, text: str, shown: str, word: str) -> str:
    """As nvcc says it, with the caret below the word."""
    return f"../../labs/02_tree/tree.cu({line}): error: {text}\n{shown}\n{' ' * shown.index(word)}^\n"


class Advice(unittest.TestCase):
    def told(self, region: str, said: str = "", file: str = FILE) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tree.cu"
            path.write_text(file.replace("{region}", region))
            return "\n".join(re.sub(r"\S*/(?=tree\.cu)", "", line) for line in advice.lines(said, path))

    def test_a_whole_kernel_in_a_region(self):
        told = self.told("  __global__ void mine(float* x) {\n    x[0] = 1;\n  }")
        self.assertIn("tree.cu:5: this begins a kernel inside the braces that open in line 3.", told)
        self.assertIn("without the line that has kernel and", self.told("  kernel void mine(global float* x) {}"))
        outside = FILE.replace("__global__ void sum_kernel(const float* input, float* result, unsigned n) {", "").replace(
            "  *result = input[0];\n}", ""
        )
        self.assertEqual(self.told("__global__ void mine(float* x) {}", file=outside), "")

    def test_braces_and_parentheses_that_do_not_balance(self):
        self.assertEqual(
            self.told("  for (;;) {\n    x();"), "tree.cu:5: the region sequential has 1 { and 0 }: a } is missing, or a { is too many."
        )
        self.assertIn("has 0 { and 1 }", self.told("  x();\n  }"))
        self.assertIn("has 2 ( and 1 )", self.told("  x((1);"))
        self.assertEqual(self.told("  x(\"{\", '{'); // {"), "")

    def test_a_semicolon_that_is_missing(self):
        told = self.told("  if (n) x()\n  // a comment\n  y();", error(7, 'expected a ";"', "  y();", "y"))
        self.assertEqual(told, "tree.cu:5: this line does not end in a semicolon.")
        self.assertEqual(self.told("  y() z();", error(5, 'expected a ";"', "  y() z();", "z")), "")
        self.assertEqual(
            self.told("  x()", error(7, 'expected a ";"', "  *result = input[0];", "*")).count("semicolon"), 1, "it is told once"
        )
        self.assertEqual(self.told("  x()"), "tree.cu:5: the last line of the region sequential does not end in a semicolon.")

    def test_names_of_cuda(self):
        for written, words in {
            "_syncthreads": "CUDA has no _syncthreads: the name is __syncthreads, with 2 underscores in front.",
            "assert": "assert needs #include <cassert> at the top of the file.",
            "threadidx": "CUDA has no threadidx: the name is threadIdx.",
            "__shfl_down": "CUDA no longer has __shfl_down. Its successor __shfl_down_sync takes the mask",
        }.items():
            told = self.told("  x();", error(5, f'identifier "{written}" is undefined', "  x();", "x"))
            self.assertIn(words, told)
        self.assertEqual(self.told("  x();", error(5, 'identifier "sum" is undefined', "  x();", "x")), "")

    def test_functions_of_the_host(self):
        call = 'calling a constexpr __host__ function("{}") from a __global__ function("sum_kernel") is not allowed.'
        told = self.told("  x = std::min(1, 2);", error(5, call.format("min"), "  x = std::min(1, 2);", "std"))
        self.assertIn("std::min is compiled for the CPU only, so a kernel cannot call it. CUDA's own function is min, without std::.", told)
        limits = "  x = std::numeric_limits<float>::lowest();"
        self.assertIn(
            "A constexpr variable that is defined outside the kernel", self.told(limits, error(5, call.format("lowest"), limits, "std"))
        )
        self.assertEqual(self.told("  f();", error(5, call.format("f"), "  f();", "f")),
                         "tree.cu:5: f is compiled for the CPU only, so a kernel cannot call it.")  # fmt: skip

    def test_an_include_in_a_region(self):
        self.assertEqual(self.told("  #include <limits>"),
                         "tree.cu:5: an #include belongs at the top of the file, not inside the braces that open in line 3.")  # fmt: skip

    def test_an_empty_file(self):
        undefined = "Scrt1.o: in function `_start':\n(.text+0x17): undefined reference to `main'\n"
        self.assertTrue(self.told("", undefined, file="\n").startswith("tree.cu is empty"))
        self.assertTrue(self.told("", undefined, file="// int main()\n").startswith("tree.cu has no main()"))
        self.assertEqual(self.told("", undefined), "")

    def test_how_a_function_is_called(self):
        told = self.told("  x();", error(5, 'no instance of overloaded function "atomicAdd" matches the argument list', "  x();", "x"))
        self.assertEqual(told, "tree.cu:5: atomicAdd takes an address and a value: atomicAdd(&sum, value).")

    def test_what_was_handed_out_and_what_is_solved_gets_none(self):
        for path in [*support.ROOT.glob("labs/*/*.c[lu]"), *support.ROOT.glob("solutions/*/*.c[lu]")]:
            self.assertEqual(advice.lines("", path), [], path)

    def test_a_build_of_a_lab_that_fails_says_it_first(self):
        target = "FAILED: labs/01_naive_atomic.p/01_naive_atomic_naive_atomic.cu.o"
        wrong = error(1, 'identifier "_syncthreads" is undefined', "  x();", "x").replace("02_tree/tree", "01_naive_atomic/naive_atomic")
        said = str(ninja.BuildFailed(f"{target}\nnvcc -c\n{wrong}ninja: build stopped\n")).splitlines()
        self.assertTrue(said[0].endswith("labs/01_naive_atomic/naive_atomic.cu"), said)
        self.assertIn("naive_atomic.cu:1: CUDA has no _syncthreads", said[1])


if __name__ == "__main__":
    unittest.main()
