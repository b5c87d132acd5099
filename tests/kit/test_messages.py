"""What a compiler says is shown in the order in which it helps."""

import unittest

import support  # noqa: F401  (finds the kit)
from kit.building import messages, ninja

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


if __name__ == "__main__":
    unittest.main()
