// What a program registers before main: its fat binaries, and which host addresses stand for which kernels
// and variables in them. Nothing is parsed until the first use.
#pragma once

#include "machine/machine.hpp"
#include "runtime/cuda_api.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace warpfold::runtime {

class CodeModule;

// A kernel by the name that the host knows. A cudaKernel_t points to this.
struct KernelEntry {
  CodeModule* module = nullptr;
  std::string name; // mangled
  const void* host_function = nullptr;
  const ptx::Function* function = nullptr; // looked up at first use, as the next
  machine::Kernel* kernel = nullptr; // of the device that used it first: its attributes are those of all
  std::array<machine::Kernel*, machine::most_devices> of_device{}; // looked up at the device's first use
  std::uint32_t dynamic_shared_limit = 0; // cudaFuncAttributeMaxDynamicSharedMemorySize; 0: not set
  bool allows_large_clusters = false;     // cudaFuncAttributeNonPortableClusterSizeAllowed
  int carveout = -1;                      // cudaFuncAttributePreferredSharedMemoryCarveout, kept and not used
};

struct VariableEntry {
  CodeModule* module = nullptr;
  std::string name;
  const void* host_variable = nullptr;
  void** managed_slot = nullptr; // where the host keeps the address of a managed variable
  std::uint64_t size = 0;
  bool constant = false;
};

// One registered fat binary, or PTX that the program provided as text, and the Programs made from it: one for
// each device that uses it.
class CodeModule {
public:
  explicit CodeModule(const void* wrapper) : wrapper_(wrapper) {}
  explicit CodeModule(std::string ptx) : ptx_(std::move(ptx)) {}
  // The program of the current device: parses and places the module at the first call. Throws Refusal, with a
  // message only the first time.
  machine::Program& program();
  // Compute capability of the code that would be chosen, as 75 for 7.5; 0 if there is none.
  int capability();
  // Forgets what is loaded on a device, so that the next use starts from the initial values
  // (cudaDeviceReset).
  void unload(int device);
  void restore_variables(); // on all devices

  std::vector<VariableEntry*> managed;

private:
  struct Failure {
    cudaError_t code;
  };
  const void* wrapper_ = nullptr;
  std::optional<std::string> ptx_;                                                // instead of a wrapper
  std::array<std::unique_ptr<machine::Program>, machine::most_devices> programs_; // by device
  std::vector<std::unique_ptr<machine::Program>> unloaded_; // launch records may still point at their kernels
  std::optional<Failure> failure_;
  std::vector<std::string> texts_; // PTX, one of each object; from the first question to the parsing
  int capability_ = 0;
  void read();
  void load(int device);
};

// Safe to call from several threads.
class Registry {
public:
  CodeModule* add_module(const void* wrapper);
  void remove_module(CodeModule* module); // what it registered is no longer found; its programs stay
  void add_kernel(CodeModule* module, const void* host_function, const char* name);
  void add_variable(VariableEntry variable);
  // A separate module from PTX, which is parsed when one of its kernels is first requested.
  CodeModule* add_ptx(std::string text);
  // Whether it is a module that is registered and not removed.
  bool has_module(const CodeModule* module);
  // Forgets the module, its kernels and what is loaded of it.
  void unload_module(CodeModule* module);
  // A kernel of such a module by its mangled name. Throws Refusal.
  KernelEntry& kernel_named(CodeModule* module, const std::string& name);
  void load_managed(CodeModule* module); // sets the host's pointers to the module's managed variables

  // By host function or by cudaKernel_t; null if there is none.
  KernelEntry* find_kernel(const void* function);
  // The entry, looked up in its program of the current device. Throws Refusal.
  KernelEntry& kernel(const void* function);
  // The address, on the current device, and the size of a registered variable. Throws Refusal
  // (cudaErrorInvalidSymbol).
  machine::PlacedVariable variable(const void* symbol);
  bool is_managed_variable(std::uint64_t address);
  bool has_managed() const { return has_managed_; }
  // The compute capability of the device: the highest that any registered module was compiled for, or
  // 7.5 if there is none.
  int capability();
  void unload_all(int device);
  // Once no work is left: the variables of all modules have the values again that they began with.
  void restore_variables();

private:
  std::recursive_mutex mutex_;
  std::vector<std::unique_ptr<CodeModule>> modules_, unloaded_;
  std::vector<std::unique_ptr<KernelEntry>> kernels_;
  std::vector<std::unique_ptr<VariableEntry>> variables_;
  std::unordered_map<const void*, KernelEntry*> kernel_by_host_, kernel_by_handle_;
  std::unordered_map<const void*, VariableEntry*> variable_by_host_;
  std::atomic<bool> has_managed_{false};
};

} // namespace warpfold::runtime
