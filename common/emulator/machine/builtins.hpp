// Functions that a kernel may call although no PTX defines them: printf, malloc, free, assert (CUDA
// Programming Guide, "Formatted Output", "Dynamic Global Memory Allocation", "Assertion"), and the device
// runtime.
#pragma once

#include "decoder.hpp"

namespace warpfold::machine {

// Emits a call of the builtin `callee`; `slots` lists its arguments and results as Warp::call reads them.
// Refuses any other function. `callee` must live as long as the code.
void decode_builtin(Decoder& decoder, const ptx::Instruction& in, const ptx::Function& callee,
                    std::uint32_t slots);

} // namespace warpfold::machine
