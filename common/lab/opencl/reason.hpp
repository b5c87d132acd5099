// Why a result is wrong: makes further runs and passes what they show to the diagnosis.
#pragma once

#include "opencl/judge.hpp"

namespace lab::opencl {

// What the wrong number looks like, on this input and on another, in OpenCL's words.
Diagnosis diagnose_wrong(const Rung& rung, const Case& given, const Sequence& input, const Tried& tried);

} // namespace lab::opencl
