// What runs a case. Judging and explaining know only this.
#pragma once

#include "input/case.hpp"
#include "input/options.hpp"
#include "promises/rung.hpp"
#include "run/device.hpp"
#include "run/recorded.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lab {

// Where the results of a run came from, if values were followed: the emulator's graph as JSON ("": none), and
// where the input lay.
struct Followed {
  struct Part {
    std::uint64_t address = 0;
    std::size_t first = 0, n = 0; // elements
  };
  std::string graph;
  std::vector<Part> input;
  std::uint64_t results = 0; // address
  bool in_opencl = false;    // the kernels
  bool in_place = false;     // they overwrite the input
};

// The outcome of a run.
struct Outcome {
  std::vector<double> results;      // results_of() the variant
  std::vector<std::byte> bits;      // the same, as they lay in memory
  std::string error;                // of the CUDA runtime, in words; "" if there was none
  bool device_lost = false;         // no later call can succeed in this process
  bool stopped = false;             // it took longer than a run may
  std::string input_change, damage; // "", or what was written that must not be
  std::string in_vain;              // "", or what the host function asked for and did not get, when grading
  Followed followed;
};

struct Counted {
  Recorded recorded;
  Outcome outcome;
};

class Runner {
public:
  Runner() = default;
  virtual ~Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // The file whose kernels it compiles, if it is the one who does; before it is opened.
  virtual void use_kernels(const std::string& /*path*/) {}
  // Finds what it runs on, before the first run. May execute the program again, as open_device() does.
  virtual Device open(Choice choice, char** argv, std::optional<unsigned> devices) {
    return open_device(choice, argv, devices);
  }
  // What the compiler said of kernels that it refused when the device was opened; "" if it did not.
  virtual std::string build_log() const { return ""; }

  // These two run the rung once. The first returns errors in the outcome; both throw DeviceError, and
  // HostLost when grading.
  Outcome run(const Variant& variant, const Case& given, const Sequence& input) {
    return ++runs_, do_run(variant, given, input);
  }
  Counted count(const Variant& variant, const Case& given, const Sequence& input) {
    return ++runs_, do_count(variant, given, input);
  }
  // The same on elements most of which are 0; of each launch only the blocks at its ends run. Nothing where
  // that cannot be had: elsewhere than on the emulator, or without memory.
  virtual std::optional<Outcome> run_ends(const Variant&, const SparseInput&) { return std::nullopt; }
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

// How many devices a run of this variant takes: all that this process has, or one of each rank.
unsigned devices_for(const Variant& variant);

// By the runner in use. The second counts, from the host function's call to its end: only on the emulator.
Outcome run_once(const Variant& variant, const Case& given, const Sequence& input);
Counted run_counted(const Variant& variant, const Case& given, const Sequence& input);
// The first, with values followed and nothing checked. On a GPU, the outcome says nothing of where they went.
Outcome run_followed(const Variant& variant, const Case& given, const Sequence& input);

} // namespace lab
