// Why a result is wrong: makes further runs and passes what they show to the diagnosis.
#pragma once

#include "explain/diagnosis.hpp"
#include "run/runner.hpp"
#include "run/watchdog.hpp"

namespace lab {

// Runs twice more on the same input and once on another, and looks for the mistake that explains all three.
// If none does and `to_find_weights` has time left, further runs find out how often each element counts.
Diagnosis diagnose_wrong(const Rung& rung, const Variant& variant, const Case& given, const Sequence& input,
                         double got, bool& device_lost, const SearchForReasons* to_find_weights = nullptr);

// The same for many rows: `got` is one result per row, compared with those from another input.
Diagnosis diagnose_wrong_rows(const Rung& rung, const Variant& variant, const Case& given,
                              const Sequence& input, const std::vector<double>& got, bool& device_lost);

} // namespace lab
