#include "run/sandboxed/device_code.hpp"

#include "run/device.hpp"
#include "runtime/warpfold_emulator.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <stdexcept>

namespace lab::grading {
namespace {

constexpr std::size_t most_kernels = 1024, most_parameters = 4096;

template <class Function>
Function* look_up(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (!symbol)
    throw std::runtime_error(
        fmt::format("device code of another program cannot be run here: there is no {}", name));
  return reinterpret_cast<Function*>(symbol);
}

namespace emulator {

template <class Function>
Function* function(const char* name) {
  return look_up<Function>(RTLD_DEFAULT, name);
}

void* load(const std::string& ptx) {
  return function<decltype(warpfold_emulator_module)>("warpfold_emulator_module")(ptx.c_str());
}

const void* kernel(void* module, const std::string& name) {
  return function<decltype(warpfold_emulator_kernel)>("warpfold_emulator_kernel")(module, name.c_str());
}

// More sizes than `most_parameters` if there are more.
std::vector<std::size_t> parameters(const void* kernel) {
  std::vector<std::size_t> sizes(most_parameters);
  const std::size_t count = function<decltype(warpfold_emulator_parameters)>("warpfold_emulator_parameters")(
      kernel, sizes.data(), sizes.size());
  sizes.resize(count);
  return sizes;
}

} // namespace emulator

// NVIDIA's driver (CUDA Driver API, library management), looked up at run time, as a lab must start without
// one. A CUkernel is a cudaKernel_t, which cudaLaunchKernel takes in place of a function.
namespace driver {

using Result = int; // CUresult
constexpr Result invalid_value = 1, not_found = 500;

template <class Function>
Function* function(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error("NVIDIA's driver is not installed here (no libcuda.so.1)");
  return look_up<Function>(library, name);
}

std::string explain(Result error) {
  const char* text = nullptr;
  function<Result(Result, const char**)>("cuGetErrorString")(error, &text);
  return text ? text : fmt::format("error {}", error);
}

void* load(const std::string& ptx) {
  void* library = nullptr;
  const Result error = function<Result(void**, const void*, int*, void**, unsigned, int*, void**, unsigned)>(
      "cuLibraryLoadData")(&library, ptx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (error != 0)
    throw std::runtime_error(
        fmt::format("the GPU's driver does not take the device code: {}", explain(error)));
  return library;
}

const void* kernel(void* library, const std::string& name) {
  const void* kernel = nullptr;
  const Result error = function<Result(const void**, void*, const char*)>("cuLibraryGetKernel")(
      &kernel, library, name.c_str());
  if (error == 0) return kernel;
  if (error == not_found) return nullptr;
  throw std::runtime_error(fmt::format("the GPU's driver does not take {}: {}", name, explain(error)));
}

std::vector<std::size_t> parameters(const void* kernel) {
  auto* const about =
      function<Result(const void*, std::size_t, std::size_t*, std::size_t*)>("cuKernelGetParamInfo");
  std::vector<std::size_t> sizes;
  for (;;) {
    std::size_t offset = 0, size = 0;
    const Result error = about(kernel, sizes.size(), &offset, &size);
    if (error == invalid_value) return sizes; // there is no such parameter: that was all
    if (error != 0)
      throw std::runtime_error(fmt::format("the driver cannot say what a kernel takes: {}", explain(error)));
    sizes.push_back(size);
  }
}

} // namespace driver
} // namespace

const DeviceCode::Kernel* DeviceCode::find(const std::string& name) {
  const bool emulated = on_emulator();
  if (!module_) module_ = emulated ? emulator::load(ptx_) : driver::load(ptx_);
  if (const auto known = kernels_.find(name); known != kernels_.end())
    return known->second.handle ? &known->second : nullptr;
  if (kernels_.size() == most_kernels) return nullptr;
  Kernel kernel;
  kernel.handle = emulated ? emulator::kernel(module_, name) : driver::kernel(module_, name);
  if (kernel.handle) {
    const std::vector<std::size_t> sizes =
        emulated ? emulator::parameters(kernel.handle) : driver::parameters(kernel.handle);
    if (sizes.size() > most_parameters) return nullptr;
    kernel.parameters.assign(sizes.begin(), sizes.end());
  }
  const Kernel& kept = kernels_[name] = std::move(kernel);
  return kept.handle ? &kept : nullptr;
}

} // namespace lab::grading
