#include "run/device.hpp"

#include "lab.hpp"
#include "run/cuda_errors.hpp"
#include "run/many_gpus/ranks.hpp"
#include "runtime/warpfold_emulator.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <unistd.h>

#include <cuda_runtime_api.h>

namespace lab {
namespace {

Device the_device;

// "" if a GPU can be used, else the reason why not.
std::string why_no_gpu() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  if (count == 0) return "no CUDA-capable device is detected";
  // A process that is one of several leaves the others' devices alone; without this it would take memory of
  // device 0 too.
  if (started_as_rank()) cudaSetDevice(local_rank() % count);
  if (const cudaError_t unusable = cudaFree(nullptr); unusable != cudaSuccess) return explain(unusable);
  return "";
}

[[noreturn]] void execute_on_emulator(char** argv) {
  const std::string directory = emulator_directory();
  const std::string library = fmt::format("{}/libcudart.so.{}", directory, CUDART_VERSION / 1000);
  if (!std::filesystem::exists(library)) {
    throw NoEmulator(fmt::format("the emulator is missing: {} does not exist. Build it (ninja in the build "
                                 "folder), or set WARPFOLD_EMULATOR_DIR to its folder",
                                 library));
  }
  if (const char* mark = std::getenv("WARPFOLD_ON_EMULATOR"); mark && std::string_view(mark) == directory) {
    throw NoEmulator(fmt::format(
        "{} was put first on LD_LIBRARY_PATH but another CUDA runtime was loaded; is this program "
        "linked with an RPATH or with the static runtime (relink with -cudart shared)?",
        directory));
  }
  const char* before = std::getenv("LD_LIBRARY_PATH");
  setenv("LD_LIBRARY_PATH", (before && *before ? directory + ":" + before : directory).c_str(), 1);
  setenv("WARPFOLD_ON_EMULATOR", directory.c_str(), 1);
  execv("/proc/self/exe", argv);
  throw NoEmulator(
      fmt::format("cannot execute this program again on the emulator: {}", std::strerror(errno)));
}

bool holds_emulator(const std::string& folder) {
  std::error_code unknown;
  return std::filesystem::equivalent(folder, emulator_directory(), unknown);
}

// The path without folders that hold an emulator: Meson puts it on the path of every test that depends on it.
std::string path_without_emulators(const std::string& path) {
  std::string kept;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string folder = path.substr(at, end - at);
    if (!folder.empty() && !holds_emulator(folder)) kept += (kept.empty() ? "" : ":") + folder;
    at = end + 1;
  }
  return kept;
}

[[noreturn]] void execute_on_gpu(char** argv) {
  constexpr const char* mark = "WARPFOLD_OFF_EMULATOR";
  if (std::getenv(mark)) {
    throw NoDevice("--device=gpu, but the emulator is loaded wherever this program looks for the CUDA "
                   "runtime; is it first in /etc/ld.so.conf or preloaded?");
  }
  const char* before = std::getenv("LD_LIBRARY_PATH");
  setenv("LD_LIBRARY_PATH", path_without_emulators(before ? before : "").c_str(), 1);
  setenv(mark, "1", 1);
  execv("/proc/self/exe", argv);
  throw NoDevice(fmt::format("cannot execute this program again on the GPU: {}", std::strerror(errno)));
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, 0) != cudaSuccess) value = 0;
  return value;
}

// Bytes per second from memory clock (kHz, two transfers per clock) and bus width (bits). Newer drivers
// report 0.
double peak_bandwidth() {
  return 2e3 * attribute(cudaDevAttrMemoryClockRate) * attribute(cudaDevAttrGlobalMemoryBusWidth) / 8;
}

void describe(Device& device) {
  cudaDeviceProp properties{};
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, 0); error != cudaSuccess) {
    throw NoDevice(fmt::format("the device's attributes cannot be read: {}", explain(error)));
  }
  device.name = properties.name;
  device.compute_capability = properties.major * 10 + properties.minor;
  device.multiprocessors = static_cast<unsigned>(properties.multiProcessorCount);
  device.threads_per_multiprocessor = static_cast<unsigned>(properties.maxThreadsPerMultiProcessor);
  device.memory = properties.totalGlobalMem;
  device.l2 = static_cast<std::size_t>(properties.l2CacheSize);
  device.peak_bandwidth = device.emulated ? 0 : peak_bandwidth();
  // Grids that fit the device differ from one GPU to the next: WARPFOLD_GRID_FOR=16x1024 (multiprocessors x
  // threads of each) makes them the same, so that counts of two devices can be compared.
  if (const char* text = std::getenv("WARPFOLD_GRID_FOR"); text && *text) {
    unsigned multiprocessors = 0, threads = 0;
    if (std::sscanf(text, "%ux%u", &multiprocessors, &threads) != 2 || multiprocessors == 0 || threads < 1024)
      throw NoDevice(fmt::format("WARPFOLD_GRID_FOR={}: expected something like 16x1024", text));
    device.multiprocessors = multiprocessors;
    device.threads_per_multiprocessor = threads;
  }
}

// WARPFOLD_DEVICES, if it is set, has made them already; one device is what there is without being asked for.
void make_devices(std::optional<unsigned> wanted) {
  constexpr unsigned usual = 4;
  const unsigned count = wanted.value_or(local_ranks() > 0 ? local_ranks() : usual);
  if (count == 1 || (!wanted && std::getenv("WARPFOLD_DEVICES"))) return;
  using Option = decltype(&warpfold_emulator_option);
  const auto option = reinterpret_cast<Option>(dlsym(RTLD_DEFAULT, "warpfold_emulator_option"));
  const bool made = option && option("devices", std::to_string(count).c_str()) == 0;
  if (!made && wanted)
    throw NoDevice(fmt::format("--devices {}: the emulator cannot make so many devices", count));
}

unsigned usable_devices(std::optional<unsigned> wanted) {
  int there = 0;
  if (cudaGetDeviceCount(&there) != cudaSuccess || there < 1) there = 1;
  const unsigned count = static_cast<unsigned>(there);
  if (wanted.value_or(1) > count)
    throw NoDevice(fmt::format(
        "--devices {}: there {} here{}", *wanted, count == 1 ? "is one" : fmt::format("are {}", count),
        on_emulator() ? "" : ". Nothing was run; --device=emulator runs without GPUs"));
  return wanted.value_or(count);
}

} // namespace

std::string emulator_directory() {
  if (const char* directory = std::getenv("WARPFOLD_EMULATOR_DIR"); directory && *directory) return directory;
  return WARPFOLD_EMULATOR_DIR;
}

bool on_emulator() {
  return dlsym(RTLD_DEFAULT, "warpfold_emulator_interface") != nullptr;
}

void leave_emulator(char** argv) {
  if (on_emulator()) execute_on_gpu(argv);
}

Device open_device(Choice choice, char** argv, std::optional<unsigned> devices) {
  Device device;
  device.emulated = on_emulator();
  if (choice == Choice::gpu) leave_emulator(argv);
  if (choice == Choice::emulator && !device.emulated) execute_on_emulator(argv);
  if (!device.emulated) {
    if (const std::string reason = why_no_gpu(); !reason.empty()) {
      if (choice == Choice::gpu) {
        throw NoDevice(
            fmt::format("no usable GPU: {}. Nothing was run; --device=emulator runs without a GPU", reason));
      }
      fmt::print(stderr, "No usable GPU ({}): running on the emulator.\n", reason);
      execute_on_emulator(argv);
    }
  }
  if (device.emulated) make_devices(devices);
  describe(device);
  device.count = usable_devices(devices);
  return the_device = device;
}

const Device& device() {
  return the_device;
}

void use_device(const Device& found) {
  the_device = found;
}

unsigned multiprocessors() {
  return the_device.multiprocessors;
}

unsigned resident_blocks(unsigned block) {
  return the_device.multiprocessors * (the_device.threads_per_multiprocessor / block);
}

} // namespace lab
