// Why a result is wrong: makes further runs, while the search has time left, and looks at what they show.
#pragma once

#include "opencl/judge.hpp"
#include "run/watchdog.hpp"

namespace lab::opencl {

// What the wrong number looks like, on this input and on another, in OpenCL's words.
Diagnosis diagnose_wrong(const Rung& rung, const Case& given, const Sequence& input, const Tried& tried,
                         const SearchForReasons& search);

} // namespace lab::opencl
