#include "report/verdict.hpp"

#include "explain/causes.hpp"
#include "explain/diagnosis.hpp"
#include "explain/row_facts.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace lab {
namespace {

// A hazard that luck cannot make right: on a GPU, the process ends there.
const Hazard* first_fatal(const std::vector<Hazard>& hazards) {
  const auto found = std::find_if(hazards.begin(), hazards.end(),
                                  [](const Hazard& hazard) { return hazard.kind == "host-access"; });
  return found == hazards.end() ? nullptr : &*found;
}

} // namespace

// One that was seen in another case than that of the verdict's first line says so.
static void name_case(Hazard& hazard, const Check& failed) {
  if (!hazard.during.empty() && !failed.name.ends_with(hazard.during))
    hazard.message += fmt::format(" (with {})", hazard.during);
}

const Check* first_failed(const std::vector<Check>& checks) {
  const auto found = std::find_if(checks.begin(), checks.end(), [](const Check& c) { return !c.ok; });
  return found == checks.end() ? nullptr : &*found;
}

Result verdict_on(std::string rung, Findings findings) {
  Result result;
  result.rung = std::move(rung);
  findings.hazards = causes_among(std::move(findings.hazards));
  if (const Check* failed = first_failed(findings.checks)) {
    result.state = State::wrong;
    for (Hazard& hazard : findings.hazards) name_case(hazard, *failed);
    // A hazard explains the number, and any resemblance to a known mistake is chance; that a result was never
    // written is none.
    Diagnosis beside = diagnosis_beside(findings.checks, *failed);
    if (findings.hazards.empty() || beside.kind == unwritten_results) result.diagnosis = std::move(beside);
    result.reason = fmt::format("{}: {}", failed->name, failed->message);
  } else if (const Hazard* fatal = first_fatal(findings.hazards)) {
    result.state = State::wrong;
    result.reason = fatal->message;
  } else if (!findings.hazards.empty()) {
    result.state = State::hazard;
    result.reason = "right, but by luck: " + findings.hazards[0].message;
  } else if (const Check* off = first_failed(findings.technique)) {
    result.state = State::off_technique;
    result.reason = off->message;
  } else if (!findings.slow.empty()) {
    result.state = State::slow;
    result.reason = findings.slow;
  }
  if (!findings.hazards.empty()) {
    result.file = findings.hazards[0].file, result.line = findings.hazards[0].line;
  }
  result.checks = std::move(findings.checks);
  std::move(findings.technique.begin(), findings.technique.end(), std::back_inserter(result.checks));
  if (!findings.slow.empty()) {
    result.checks.push_back({.name = "speed", .ok = false, .message = findings.slow, .diagnosis = {}});
  }
  result.hazards = std::move(findings.hazards);
  result.profile = std::move(findings.profile);
  result.timing = findings.timing;
  return result;
}

} // namespace lab
