// Why a result is wrong: makes further runs and looks at what they show.
#pragma once

#include "explain/diagnosis.hpp"
#include "judge/case_judge.hpp"

namespace lab {

// The largest input of which each value is followed: prime.
constexpr std::size_t most_followed = 100'003;

// On the emulator, one run whose values are followed. If they do not show why, or cannot be followed, runs on
// the same input and on others show what the numbers say by themselves.
Diagnosis diagnose_wrong(const Rung& rung, const Failure& failure, const Sequence& input, bool& device_lost);

// Whether the result is right with all __device__ variables as they were when the program began, and wrong
// after an earlier launch. The kind is empty if not, or where that cannot be tried.
Diagnosis left_in_variables(const Rung& rung, const Failure& failure, const Sequence& input,
                            bool& device_lost);

} // namespace lab
