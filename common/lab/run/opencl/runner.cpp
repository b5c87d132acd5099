#include "run/opencl/runner.hpp"

#include "input/source_file.hpp"
#include "run/device.hpp"
#include "run/emulator.hpp"
#include "run/in_this_process.hpp"
#include "run/memory.hpp"
#include "run/opencl/context.hpp"
#include "run/opencl/devices.hpp"
#include "run/watchdog.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lab::opencl {
namespace {

// Input and result of one run, on the device.
class Memory {
public:
  Memory(const Context& context, const Variant& variant, const Case& given, const Sequence& from)
      : context_(context), from_(from), input(context.allocate(bytes(), "input")),
        result(context.allocate(size_of(variant.result_type), "result")) {
    for (std::size_t at = 0; at < bytes(); at += from.values.size())
      context.write(input, at, from.values.data(), std::min(from.values.size(), bytes() - at));
    std::vector<std::byte> poisoned(size_of(variant.result_type));
    store_value(variant.result_type, poison(variant.result_type, given.kind), poisoned.data());
    context.write(result, 0, poisoned.data(), poisoned.size());
  }
  ~Memory() {
    clReleaseMemObject(input);
    clReleaseMemObject(result);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::size_t bytes() const { return from_.n * size_of(from_.type); }

  void read_result(const Variant& variant, Outcome& outcome) const {
    outcome.bits.resize(size_of(variant.result_type));
    context_.read(result, outcome.bits.data(), outcome.bits.size());
    outcome.results = {load_value(variant.result_type, outcome.bits.data())};
  }
  // "", or where the input is no longer what it was.
  std::string change() const {
    std::vector<std::byte> now(bytes());
    context_.read(input, now.data(), now.size());
    for (std::size_t at = 0; at < now.size(); ++at)
      if (now[at] != from_.values[at % from_.values.size()])
        return fmt::format("the input was changed, first at element {}", at / size_of(from_.type));
    return "";
  }

private:
  const Context& context_;
  const Sequence& from_;

public:
  const cl_mem input, result;
};

class OpenClRunner final : public Runner {
public:
  void use_kernels(const std::string& path) override { path_ = path; }
  Device open(Choice choice, char** argv, std::optional<unsigned>) override {
    const Device emulated = open_emulator(choice, argv);
    const cl_device_id device = find_device(choice);
    context_.emplace(device);
    const std::optional<std::string> kernels = read_text(path_);
    if (!kernels) throw std::runtime_error(fmt::format("cannot read the kernels: {}", path_));
    const Device found = on_emulator() ? emulated : describe(device);
    fmt::print(stderr, "OpenCL device: {}.\n", found.name);
    try {
      context_->build(*kernels, path_);
    } catch (const BuildError& error) {
      build_log_ = error.what();
      fmt::print(stderr, "{}", build_log_);
    }
    return found;
  }
  std::string build_log() const override { return build_log_; }

  void reset() override { emulator::reset(); }
  std::string report() override { return emulator::report(); }
  void set(const std::string& option, const std::string& value) override { emulator::set(option, value); }

private:
  // Goes on in a process on the emulator if that is what is chosen, or there is no GPU to choose.
  static Device open_emulator(Choice choice, char** argv) {
    if (choice == Choice::automatic && !on_emulator()) {
      try {
        find_device(Choice::gpu);
      } catch (const NoDevice&) {
        fmt::print(stderr, "No usable GPU (OpenCL offers none): running on the emulator.\n");
        choice = Choice::emulator;
      }
    }
    if (choice == Choice::gpu || choice == Choice::cpu) leave_emulator(argv);
    if (choice != Choice::emulator && !on_emulator()) return {};
    const Device found = open_device(Choice::emulator, argv);
    setenv("OCL_ICD_VENDORS", (emulator_directory() + "/opencl-vendors").c_str(), 1);
    return found;
  }

  void start(const Variant& variant, const Case& given, const Memory& memory) const {
    Run run(*context_, memory.input, memory.result, given.n, given.block);
    Arguments arguments;
    arguments.input = &run;
    call_host_function(variant, arguments);
    context_->finish();
  }

  Outcome do_run(const Variant& variant, const Case& given, const Sequence& input) override {
    Outcome outcome;
    const Memory memory(*context_, variant, given, input);
    {
      if (!variant.in_place)
        protect_input(reinterpret_cast<const void*>(address_of(memory.input)), memory.bytes());
      const WatchedRun watched(1000 + 2 * given.n);
      try {
        start(variant, given, memory);
      } catch (const DeviceError& error) {
        outcome.error = error.what();
        outcome.device_lost = true;
      }
      outcome.stopped = watched.was_stopped();
    }
    protect_input(nullptr, 0);
    if (outcome.stopped) outcome.error = no_end(), outcome.device_lost = true;
    if (outcome.device_lost) return outcome;
    const auto result = reinterpret_cast<const void*>(address_of(memory.result));
    outcome.followed = {where_from(result, size_of(variant.result_type), 1),
                        {{address_of(memory.input), 0, given.n}},
                        address_of(memory.result)};
    memory.read_result(variant, outcome);
    if (!variant.in_place) outcome.input_change = memory.change();
    return outcome;
  }

  Counted do_count(const Variant& variant, const Case& given, const Sequence& input) override {
    const Memory memory(*context_, variant, given, input);
    Counted counted;
    counted.recorded = record_launches([&] {
      const WatchedRun watched;
      start(variant, given, memory);
    });
    memory.read_result(variant, counted.outcome);
    if (!variant.in_place) counted.outcome.input_change = memory.change();
    return counted;
  }

  std::string path_;
  std::optional<Context> context_;
  std::string build_log_;
};

} // namespace

std::unique_ptr<Runner> make_runner() {
  return std::make_unique<OpenClRunner>();
}

Variant variant_of(void (*reduce)(Run& run)) {
  Variant variant;
  variant.type = variant.result_type = Type::float32;
  variant.in_opencl = true;
  variant.function = reinterpret_cast<Variant::Function>(reduce);
  variant.invoke = [](Variant::Function called, const Arguments& arguments) {
    reinterpret_cast<void (*)(Run&)>(called)(*static_cast<Run*>(arguments.input));
  };
  return variant;
}

} // namespace lab::opencl
