#include "opencl/verdict.hpp"

#include <algorithm>

namespace lab::opencl {

Diagnosis barrier_not_for_all(const std::string& text) {
  return {"barrier-not-for-all", text, true};
}

Result verdict_on(const Rung& rung, Findings findings, const Barriers& barriers, const std::string& luck) {
  const auto promises = static_cast<std::ptrdiff_t>(findings.technique.size());
  Result result = lab::verdict_on(rung.what.name, std::move(findings));
  // For a rung that is wrong on purpose, the last check says how often it was.
  if (rung.what.cannot_be_right && promises > 0)
    std::rotate(result.checks.end() - promises - 1, result.checks.end() - promises, result.checks.end());
  if (result.state == State::wrong) {
    if (!barriers.not_for_all.empty()) {
      result.diagnosis = barrier_not_for_all(barriers.not_for_all);
    } else if (!barriers.few.empty()) {
      result.diagnosis.text += (result.diagnosis.text.empty() ? "" : " ") + barriers.few;
      if (result.diagnosis.kind.empty()) result.diagnosis.kind = "no-barrier";
    }
  } else if (!luck.empty()) {
    result.state = State::hazard;
    result.reason = "right, but by luck: " + luck;
    result.checks.push_back({.name = "whatever the device makes of a work-group's items",
                             .ok = false,
                             .message = luck,
                             .diagnosis = {}});
  }
  return result;
}

} // namespace lab::opencl
