#include "runtime/code/registration.hpp"

#include "fatbin/container.hpp"
#include "runtime/code/linking.hpp"
#include "runtime/devices/devices.hpp"
#include "runtime/launches/progress.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/runtime.hpp"

#include <algorithm>
#include <climits>
#include <fmt/format.h>

namespace warpfold::runtime {

// ---- a module
// -------------------------------------------------------------------------------------------------

namespace {

bool has_ptx(const std::vector<fatbin::Image>& images) {
  return std::any_of(images.begin(), images.end(),
                     [](const fatbin::Image& image) { return image.kind == fatbin::Kind::ptx; });
}

// The image to run, of the images in one object. Throws Refusal, FormatError.
fatbin::Image choose_image(const std::vector<fatbin::Image>& images) {
  if (has_ptx(images)) return fatbin::choose(images);
  try {
    return fatbin::choose(images);
  } catch (const fatbin::FormatError& error) {
    throw Refusal(cudaErrorNoKernelImageForDevice, error.what());
  }
}

// Of a program that is linked of several objects (-rdc=true), all of which must run on one device: what it
// was compiled for. NVIDIA's device runtime is then one of them, and it has PTX only for the newest device,
// but machine code for older ones. 0 if there is no PTX.
int common_architecture(const std::vector<std::vector<fatbin::Image>>& objects) {
  int needed = 0, common = INT_MAX;
  for (const std::vector<fatbin::Image>& images : objects) {
    if (!has_ptx(images)) continue;
    int oldest = INT_MAX, newest = 0;
    for (const fatbin::Image& image : images) {
      oldest = std::min(oldest, image.architecture);
      if (image.kind == fatbin::Kind::ptx) newest = std::max(newest, image.architecture);
    }
    needed = std::max(needed, oldest), common = std::min(common, newest);
  }
  return common == INT_MAX ? 0 : std::max(needed, common);
}

ptx::Module parse_all(const std::vector<std::string>& texts) {
  std::vector<ptx::Module> modules;
  for (const std::string& text : texts) modules.push_back(ptx::parse(text));
  return link(std::move(modules));
}

} // namespace

void CodeModule::read() {
  if (!texts_.empty()) return;
  if (ptx_) {
    texts_.push_back(*ptx_);
    return;
  }
  try {
    const std::vector<std::vector<fatbin::Image>> objects = fatbin::read_wrapper(wrapper_);
    capability_ = common_architecture(objects);
    for (const std::vector<fatbin::Image>& images : objects) {
      std::vector<fatbin::Image> fitting = images;
      std::erase_if(fitting, [&](const fatbin::Image& image) { return image.architecture > capability_; });
      texts_.push_back(std::move(choose_image(has_ptx(fitting) ? fitting : images).ptx));
    }
  } catch (const fatbin::FormatError& error) {
    throw Refusal(cudaErrorInvalidKernelImage, error.what());
  }
}

void CodeModule::load(int device) {
  const Timed timed(Doing::loading);
  const auto known =
      std::find_if(programs_.begin(), programs_.end(), [](const auto& each) { return !!each; });
  const machine::Program* first = known == programs_.end() ? nullptr : known->get();
  machine::ProgramPlace place{.device = device, .managed = {}, .first = first};
  for (const VariableEntry* variable : managed) place.managed.push_back(variable->name);
  if (!first) read();
  try {
    ptx::Module module = first ? first->module() : parse_all(std::exchange(texts_, {}));
    if (capability_ != 0) module.target = capability_;
    programs_[static_cast<std::size_t>(device)] =
        std::make_unique<machine::Program>(std::move(module), Runtime::get().memory, std::move(place));
  } catch (const ptx::ParseError& error) {
    throw Refusal(cudaErrorInvalidPtx, fmt::format("the program's PTX cannot be read: {}", error.what()));
  } catch (const std::runtime_error& error) {
    throw Refusal(cudaErrorInvalidPtx, fmt::format("the program's PTX cannot be used: {}", error.what()));
  }
  if (first) return;
  for (VariableEntry* variable : managed)
    if (const auto* placed = programs_[static_cast<std::size_t>(device)]->variable(variable->name))
      *variable->managed_slot = reinterpret_cast<void*>(placed->address);
}

machine::Program& CodeModule::program() {
  if (failure_) throw Refusal(failure_->code, ""); // the message was printed the first time
  const int device = current_device();
  if (!programs_[static_cast<std::size_t>(device)]) {
    try {
      load(device);
    } catch (const Refusal& refusal) {
      failure_ = Failure{refusal.code};
      throw;
    }
  }
  return *programs_[static_cast<std::size_t>(device)];
}

int CodeModule::capability() {
  if (capability_ == 0 && !failure_) {
    try {
      read();
    } catch (const Refusal&) { // reported when the code is used
      texts_.clear();
    }
  }
  return capability_;
}

void CodeModule::unload(int device) {
  auto& program = programs_[static_cast<std::size_t>(device)];
  if (program) unloaded_.push_back(std::move(program));
  failure_.reset();
}

void CodeModule::restore_variables() {
  for (const auto& program : programs_)
    if (program) program->restore_variables();
}

// ---- the registry
// ---------------------------------------------------------------------------------------------

CodeModule* Registry::add_module(const void* wrapper) {
  std::lock_guard lock(mutex_);
  return modules_.emplace_back(std::make_unique<CodeModule>(wrapper)).get();
}

void Registry::remove_module(CodeModule* module) {
  std::lock_guard lock(mutex_);
  std::erase_if(kernel_by_host_, [&](const auto& item) { return item.second->module == module; });
  std::erase_if(variable_by_host_, [&](const auto& item) { return item.second->module == module; });
}

bool Registry::has_module(const CodeModule* module) {
  std::lock_guard lock(mutex_);
  return std::any_of(modules_.begin(), modules_.end(),
                     [&](const auto& each) { return each.get() == module; });
}

void Registry::unload_module(CodeModule* module) {
  std::lock_guard lock(mutex_);
  std::erase_if(kernel_by_handle_, [&](const auto& item) { return item.second->module == module; });
  const auto found =
      std::find_if(modules_.begin(), modules_.end(), [&](const auto& each) { return each.get() == module; });
  if (found == modules_.end()) return;
  for (int device = 0; device < machine::most_devices; ++device) module->unload(device);
  unloaded_.push_back(std::move(*found)); // launch records may still point at its kernels
  modules_.erase(found);
}

void Registry::add_kernel(CodeModule* module, const void* host_function, const char* name) {
  std::lock_guard lock(mutex_);
  KernelEntry* entry = kernels_.emplace_back(std::make_unique<KernelEntry>()).get();
  entry->module = module;
  entry->name = name;
  entry->host_function = host_function;
  kernel_by_host_[host_function] = entry;
  kernel_by_handle_[entry] = entry;
}

CodeModule* Registry::add_ptx(std::string text) {
  std::lock_guard lock(mutex_);
  return modules_.emplace_back(std::make_unique<CodeModule>(std::move(text))).get();
}

KernelEntry& Registry::kernel_named(CodeModule* module, const std::string& name) {
  std::lock_guard lock(mutex_);
  const auto known = std::find_if(kernels_.begin(), kernels_.end(), [&](const auto& entry) {
    return entry->module == module && entry->name == name;
  });
  if (known != kernels_.end()) return kernel(known->get());
  if (!module->program().kernel(name))
    throw Refusal(cudaErrorInvalidDeviceFunction, fmt::format("the PTX holds no kernel named {}", name));
  KernelEntry* entry = kernels_.emplace_back(std::make_unique<KernelEntry>()).get();
  entry->module = module;
  entry->name = name;
  kernel_by_handle_[entry] = entry;
  return kernel(entry);
}

void Registry::add_variable(VariableEntry variable) {
  std::lock_guard lock(mutex_);
  VariableEntry* entry = variables_.emplace_back(std::make_unique<VariableEntry>(std::move(variable))).get();
  variable_by_host_[entry->host_variable] = entry;
  if (!entry->managed_slot) return;
  entry->module->managed.push_back(entry);
  has_managed_ = true;
}

void Registry::load_managed(CodeModule* module) {
  std::lock_guard lock(mutex_);
  if (!module->managed.empty()) module->program();
}

KernelEntry* Registry::find_kernel(const void* function) {
  std::lock_guard lock(mutex_);
  if (auto found = kernel_by_host_.find(function); found != kernel_by_host_.end()) return found->second;
  if (auto found = kernel_by_handle_.find(function); found != kernel_by_handle_.end()) return found->second;
  return nullptr;
}

KernelEntry& Registry::kernel(const void* function) {
  std::lock_guard lock(mutex_);
  KernelEntry* entry = find_kernel(function);
  if (!entry) throw Refusal(cudaErrorInvalidDeviceFunction, "the function is not a kernel of this program");
  machine::Kernel*& kernel = entry->of_device[static_cast<std::size_t>(current_device())];
  if (!kernel) {
    machine::Program& program = entry->module->program();
    kernel = program.kernel(entry->name);
    if (!kernel)
      throw Refusal(cudaErrorInvalidDeviceFunction,
                    fmt::format("the program's PTX holds no kernel named {}", entry->name));
    const auto& functions = program.module().functions;
    entry->function = &*std::find_if(functions.begin(), functions.end(), [&](const ptx::Function& function) {
      return function.is_entry && function.name == entry->name;
    });
  }
  if (!entry->kernel) entry->kernel = kernel;
  return *entry;
}

machine::PlacedVariable Registry::variable(const void* symbol) {
  std::lock_guard lock(mutex_);
  auto found = variable_by_host_.find(symbol);
  if (found == variable_by_host_.end())
    throw Refusal(cudaErrorInvalidSymbol, "not a device variable: pass the __device__ or __constant__ "
                                          "variable itself, not its address or name");
  const VariableEntry& entry = *found->second;
  const auto* placed = entry.module->program().variable(entry.name);
  if (!placed)
    throw Refusal(cudaErrorInvalidSymbol,
                  fmt::format("the program's PTX holds no variable named {}", entry.name));
  return *placed;
}

bool Registry::is_managed_variable(std::uint64_t address) {
  std::lock_guard lock(mutex_);
  return std::any_of(variables_.begin(), variables_.end(), [&](const auto& entry) {
    auto begin = entry->managed_slot ? reinterpret_cast<std::uint64_t>(*entry->managed_slot) : 0;
    return begin != 0 && address >= begin && address < begin + entry->size;
  });
}

int Registry::capability() {
  std::lock_guard lock(mutex_);
  int highest = 0;
  for (const auto& module : modules_) highest = std::max(highest, module->capability());
  return highest ? highest : 75;
}

void Registry::restore_variables() {
  std::lock_guard lock(mutex_);
  for (const auto& module : modules_) module->restore_variables();
}

void Registry::unload_all(int device) {
  std::lock_guard lock(mutex_);
  for (const auto& module : modules_) module->unload(device);
  for (const auto& entry : kernels_) {
    machine::Kernel*& kernel = entry->of_device[static_cast<std::size_t>(device)];
    if (entry->kernel == kernel) entry->kernel = nullptr;
    kernel = nullptr;
  }
}

} // namespace warpfold::runtime

// ---- what the program's own start-up code calls
// ----------------------------------------------------------------

using namespace warpfold::runtime;

#pragma GCC visibility push(default)
extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(Runtime::get().registry.add_module(wrapper));
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) {
  Runtime::get().registry.remove_module(reinterpret_cast<CodeModule*>(handle));
}

char __cudaInitModule(void** handle) {
  cudaError_t error = entry("loading the program's device code", [&] {
    Runtime::get().registry.load_managed(reinterpret_cast<CodeModule*>(handle));
    return cudaSuccess;
  });
  return error == cudaSuccess;
}

void __cudaRegisterFunction(void** handle, const char* host_function, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  Runtime::get().registry.add_kernel(reinterpret_cast<CodeModule*>(handle), host_function, name);
}

void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* name, int, size_t size,
                       int constant, int) {
  Runtime::get().registry.add_variable(
      {reinterpret_cast<CodeModule*>(handle), name, host_variable, nullptr, size, constant != 0});
}

void __cudaRegisterManagedVar(void** handle, void** host_slot, char*, const char* name, int, size_t size,
                              int constant, int) {
  Runtime::get().registry.add_variable(
      {reinterpret_cast<CodeModule*>(handle), name, host_slot, host_slot, size, constant != 0});
}

// Host variables and tables of functions that both sides share require hardware that reads the host's page
// tables.
void __cudaRegisterHostVar(void**, const char*, char*, size_t) {
  not_supported("__cudaRegisterHostVar");
}
void __cudaRegisterUnifiedTable(void**, void*) {
  not_supported("__cudaRegisterUnifiedTable");
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  KernelEntry* entry = Runtime::get().registry.find_kernel(host_function);
  *kernel = reinterpret_cast<cudaKernel_t>(entry);
  return entry ? cudaSuccess : remember(cudaErrorInvalidDeviceFunction);
}
}
#pragma GCC visibility pop
