// The state that follows from what was found about a rung, and from what only OpenCL's checks know.
#pragma once

#include "opencl/barriers.hpp"
#include "report/verdict.hpp"

namespace lab::opencl {

// `luck`: why a result that is right is so by luck, or "". Decides after a wrong result and before a broken
// promise.
Result verdict_on(const Rung& rung, Findings findings, const Barriers& barriers, const std::string& luck);

// A barrier that some items do not reach explains all that goes wrong in a rung.
Diagnosis barrier_not_for_all(const std::string& text);

} // namespace lab::opencl
