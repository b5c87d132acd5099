// Device code that is not part of the program that runs it: PTX as text. This is how a class's grader
// executes what a student's kernels were compiled to, in a process that contains nothing else of the
// student's.
#include "runtime/code/registration.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/runtime.hpp"

using namespace warpfold::runtime;

#pragma GCC visibility push(default)
#include "runtime/warpfold_emulator.h"
#pragma GCC visibility pop

extern "C" {

void* warpfold_emulator_module(const char* ptx) {
  return Runtime::get().registry.add_ptx(ptx ? ptx : "");
}

const void* warpfold_emulator_kernel(void* module, const char* name) {
  const void* found = nullptr;
  entry("looking for a kernel", [&] {
    found = &Runtime::get().registry.kernel_named(static_cast<CodeModule*>(module), name ? name : "");
    return cudaSuccess;
  });
  return found;
}

size_t warpfold_emulator_parameters(const void* kernel, size_t* sizes, size_t most) {
  const KernelEntry* entry = Runtime::get().registry.find_kernel(kernel);
  if (!entry || !entry->kernel) return 0;
  const auto& parameters = entry->kernel->parameters();
  for (std::size_t i = 0; i < parameters.size() && i < most; ++i) sizes[i] = parameters[i].size;
  return parameters.size();
}
}
