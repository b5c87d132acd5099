#include "judge/progress.hpp"

#include <utility>

namespace lab {

void Progress::runs(const Check& check) {
  std::lock_guard lock(mutex_);
  under_way_ = check;
}

void Progress::is_wrong(const Check& check) {
  {
    std::lock_guard lock(mutex_);
    under_way_ = check;
    if (std::exchange(has_failed_, true)) return;
  }
  if (on_wrong_) on_wrong_(check);
}

void Progress::add(const Check& check) {
  if (!check.ok) is_wrong(check);
  std::lock_guard lock(mutex_);
  checks_.push_back(check);
  under_way_.reset();
}

void Progress::explain(std::size_t check, Diagnosis diagnosis) {
  std::lock_guard lock(mutex_);
  checks_[check].diagnosis = std::move(diagnosis);
}

void Progress::decide(std::size_t check, Diagnosis diagnosis) {
  explain(check, std::move(diagnosis));
  std::lock_guard lock(mutex_);
  checks_[check].decides = true;
}

std::vector<Check> Progress::so_far() const {
  std::lock_guard lock(mutex_);
  return checks_;
}

std::optional<Check> Progress::under_way() const {
  std::lock_guard lock(mutex_);
  return under_way_;
}

} // namespace lab
