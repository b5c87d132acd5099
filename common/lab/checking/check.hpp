// Whether a rung is right: on which inputs it is tried, and what is said about each.
#pragma once

#include "checking/run.hpp"
#include "command_line.hpp"
#include "result.hpp"

#include <functional>
#include <mutex>
#include <optional>

namespace lab {

struct Checked {
  std::vector<Check> checks;
  bool device_lost = false; // nothing more can be run in this process
};

// How far a check has come; another thread may ask at any time.
class Progress {
public:
  // `on_wrong` is told of the first check that fails, before its reason is looked for.
  explicit Progress(std::function<void(const Check&)> on_wrong = {}) : on_wrong_(std::move(on_wrong)) {}

  void runs(const Check& check); // it is about to be made
  void is_wrong(const Check& check);
  void add(const Check& check);
  void decide(std::size_t check, Diagnosis diagnosis); // of all that were added, this one's is the rung's
  Checked so_far() const;
  std::optional<Check> under_way() const;

private:
  const std::function<void(const Check&)> on_wrong_;
  mutable std::mutex mutex_;
  std::vector<Check> checks_;
  std::optional<Check> under_way_;
  bool told_ = false;
};

// Small inputs come first. Where one gives a wrong result, larger ones are tried only as long as they help to
// find the reason, and not for longer than a few seconds.
Checked check_rung(const Rung& rung, const Options& options, Progress& progress);

// A rung whose kernel is to leave the operator to its caller, tried with another one.
std::vector<Check> check_other_operators(const Rung& rung, const Options& options);

// The cases that a variant is tried on, smallest first (tests look at them).
std::vector<Case> cases_for(const Rung& rung, const Variant& variant, const Options& options);

} // namespace lab
