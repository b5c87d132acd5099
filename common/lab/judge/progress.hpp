// How far the check of a rung has come.
#pragma once

#include "judge/check.hpp"

#include <functional>
#include <mutex>
#include <optional>

namespace lab {

// Another thread may ask at any time.
class Progress {
public:
  // `on_wrong` gets the first check that fails, before its reason is looked for.
  explicit Progress(std::function<void(const Check&)> on_wrong = {}) : on_wrong_(std::move(on_wrong)) {}

  void runs(const Check& check); // the check is about to be made
  void is_wrong(const Check& check);
  void add(const Check& check);
  void explain(std::size_t check, Diagnosis diagnosis); // why this check failed
  void decide(std::size_t check,
              Diagnosis diagnosis); // likewise, and this check's diagnosis becomes the rung's
  std::vector<Check> so_far() const;
  std::optional<Check> under_way() const;

private:
  const std::function<void(const Check&)> on_wrong_;
  mutable std::mutex mutex_;
  std::vector<Check> checks_;
  std::optional<Check> under_way_;
  bool has_failed_ = false;
};

} // namespace lab
