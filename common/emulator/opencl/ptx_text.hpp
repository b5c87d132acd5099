// PTX as LLVM writes it.
#pragma once

#include <string>
#include <vector>

namespace warpfold::opencl {

// libclc's sin, cos and tan of large doubles read the last bytes of a table of 158 as part of a vector: its
// end is padded as a GPU's memory is.
std::string with_padded_table(std::string ptx);

// The functions that it calls and does not define, apart from printf.
std::vector<std::string> undefined_functions(const std::string& ptx);

} // namespace warpfold::opencl
