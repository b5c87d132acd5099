#include "grading/device_code.hpp"

#include "runtime/warpfold_emulator.h"

#include <dlfcn.h>
#include <stdexcept>

namespace lab::grading {
namespace {

template <class Function>
Function* look_up(const char* name) {
  void* symbol = dlsym(RTLD_DEFAULT, name);
  if (!symbol)
    throw std::runtime_error(
        std::string("device code of another program runs on the emulator, and the one in use has no ") +
        name);
  return reinterpret_cast<Function*>(symbol);
}

} // namespace

const DeviceCode::Kernel* DeviceCode::find(const std::string& name) {
  constexpr std::size_t most_kernels = 1024, most_parameters = 4096;
  if (!module_)
    module_ = look_up<decltype(warpfold_emulator_module)>("warpfold_emulator_module")(ptx_.c_str());
  if (const auto known = kernels_.find(name); known != kernels_.end())
    return known->second.handle ? &known->second : nullptr;
  if (kernels_.size() == most_kernels) return nullptr;
  Kernel kernel;
  kernel.handle =
      look_up<decltype(warpfold_emulator_kernel)>("warpfold_emulator_kernel")(module_, name.c_str());
  if (kernel.handle) {
    std::vector<std::size_t> sizes(most_parameters);
    const std::size_t count = look_up<decltype(warpfold_emulator_parameters)>("warpfold_emulator_parameters")(
        kernel.handle, sizes.data(), sizes.size());
    if (count > most_parameters) return nullptr;
    kernel.parameters.assign(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(count));
  }
  const Kernel& kept = kernels_[name] = std::move(kernel);
  return kept.handle ? &kept : nullptr;
}

} // namespace lab::grading
