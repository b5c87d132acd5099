// What the compiler made of a program's kernels, kept in a file, so that the program can be run once more by
// a process that runs no compiler: where the kernels are a stranger's, Clang reads them in a sandbox of its
// own.
//
// WARPFOLD_OPENCL_KEEP=FILE appends each translation to a file, and WARPFOLD_OPENCL_KEPT=FILE takes them from
// it, in the same order.
#pragma once

#include "compiler.hpp"

#include <functional>

namespace warpfold::opencl {

// What `make` returns, or what was kept instead. A file that ends too early, or is no such file, gives a
// translation that has failed.
Translation kept_or(const std::function<Translation()>& make);

} // namespace warpfold::opencl
