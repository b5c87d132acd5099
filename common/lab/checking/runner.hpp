// What runs a case. Judging and explaining know only this.
#pragma once

#include "checking/run.hpp"

#include <memory>

namespace lab {

class Runner {
public:
  Runner() = default;
  virtual ~Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // These two run the rung once. The first returns errors in the outcome; both throw CudaError, and HostLost
  // when grading.
  Outcome run(const Variant& variant, const Case& given, const Sequence& input) {
    return ++runs_, do_run(variant, given, input);
  }
  Counted count(const Variant& variant, const Case& given, const Sequence& input) {
    return ++runs_, do_count(variant, given, input);
  }
  std::size_t runs() const { return runs_; }

  // The emulator's recording (JSON, as warpfold_emulator_report() returns it), and its options. Only on the
  // emulator.
  virtual void reset() = 0;
  virtual std::string report() = 0;
  virtual void set(const std::string& option, const std::string& value) = 0;

private:
  virtual Outcome do_run(const Variant& variant, const Case& given, const Sequence& input) = 0;
  virtual Counted do_count(const Variant& variant, const Case& given, const Sequence& input) = 0;
  std::size_t runs_ = 0;
};

// The one in use: this process, with its device, unless another was chosen.
Runner& runner();
void use_runner(std::unique_ptr<Runner> chosen);
std::unique_ptr<Runner> runner_in_this_process();

} // namespace lab
