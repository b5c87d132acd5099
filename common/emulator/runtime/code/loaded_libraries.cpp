// Code that the program brings itself while it runs, as PTX or a fat binary: cudaLibraryLoadData and what
// goes with it. A cudaLibrary_t points to a CodeModule, and a kernel of it is launched like any other.
#include "fatbin/container.hpp"
#include "runtime/devices/devices.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/runtime.hpp"
#include "runtime/streams/streams.hpp"

#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#if CUDART_VERSION >= 12000
namespace warpfold::runtime {
namespace {

Registry& registry() {
  return Runtime::get().registry;
}

std::string ptx_of(const std::vector<fatbin::Image>& images) {
  return fatbin::choose(images).ptx;
}

// The PTX in what the program gives. `size`: 0 if only its contents say where it ends.
std::string ptx_in(const void* code, std::size_t size) {
  std::uint32_t magic = 0;
  std::memcpy(&magic, code, size == 0 || size >= sizeof magic ? sizeof magic : size);
  constexpr std::uint32_t elf = 0x464c457f;
  if (magic == elf)
    throw Refusal(cudaErrorNoKernelImageForDevice,
                  "this is a cubin, machine code for one GPU: the emulator runs PTX (nvcc -ptx)");
  try {
    if (magic == fatbin::fat_binary_magic)
      return size ? ptx_of(fatbin::read({static_cast<const std::byte*>(code), size}))
                  : ptx_of(fatbin::read_unsized(code));
  } catch (const fatbin::FormatError& error) {
    throw Refusal(cudaErrorNoKernelImageForDevice, error.what());
  }
  const char* const text = static_cast<const char*>(code);
  return size ? std::string(text, size) : std::string(text);
}

void refuse_options(unsigned jit, const cudaLibraryOption* options, unsigned count) {
  if (jit > 0) throw Refusal(cudaErrorNotSupported, "options of the compiler of PTX are not supported");
  for (unsigned i = 0; i < count; ++i)
    if (options[i] != cudaLibraryBinaryIsPreserved) // which is only a hint
      throw Refusal(cudaErrorNotSupported,
                    fmt::format("the library option {} is not supported", static_cast<int>(options[i])));
}

cudaLibrary_t load(std::string ptx) {
  CodeModule* const module = registry().add_ptx(std::move(ptx));
  try {
    module->program();
  } catch (const Refusal&) {
    registry().unload_module(module);
    throw;
  }
  return reinterpret_cast<cudaLibrary_t>(module);
}

std::vector<std::string> kernel_names(CodeModule& module) {
  std::vector<std::string> names;
  for (const ptx::Function& function : module.program().module().functions)
    if (function.is_entry && function.has_body) names.push_back(function.name);
  return names;
}

// Calls `body` with the library's module.
template <typename Body>
cudaError_t with_library(const char* caller, cudaLibrary_t library, Body body) {
  return entry(caller, [&] {
    auto* const module = reinterpret_cast<CodeModule*>(library);
    if (!registry().has_module(module)) return cudaErrorInvalidResourceHandle;
    return body(*module);
  });
}

} // namespace
} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**,
                                unsigned jit_options, cudaLibraryOption* options, void**, unsigned count) {
  return entry("cudaLibraryLoadData", [&] {
    if (!library || !code || (count > 0 && !options)) return cudaErrorInvalidValue;
    refuse_options(jit_options, options, count);
    *library = load(ptx_in(code, 0));
    return cudaSuccess;
  });
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* path, cudaJitOption*, void**,
                                    unsigned jit_options, cudaLibraryOption* options, void**,
                                    unsigned count) {
  return entry("cudaLibraryLoadFromFile", [&] {
    if (!library || !path || (count > 0 && !options)) return cudaErrorInvalidValue;
    refuse_options(jit_options, options, count);
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Refusal(cudaErrorFileNotFound, fmt::format("{} cannot be read", path));
    const std::string contents(std::istreambuf_iterator<char>(file), {});
    if (contents.empty()) throw Refusal(cudaErrorInvalidKernelImage, fmt::format("{} is empty", path));
    *library = load(ptx_in(contents.data(), contents.size()));
    return cudaSuccess;
  });
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return with_library("cudaLibraryUnload", library, [](CodeModule& module) {
    wait_for_all_devices(); // its kernels may still run
    registry().unload_module(&module);
    return cudaSuccess;
  });
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return with_library("cudaLibraryGetKernel", library, [&](CodeModule& module) {
    if (!kernel || !name) return cudaErrorInvalidValue;
    if (!module.program().kernel(name)) return cudaErrorSymbolNotFound;
    *kernel = reinterpret_cast<cudaKernel_t>(&registry().kernel_named(&module, name));
    return cudaSuccess;
  });
}

cudaError_t cudaLibraryGetKernelCount(unsigned* count, cudaLibrary_t library) {
  return with_library("cudaLibraryGetKernelCount", library, [&](CodeModule& module) {
    if (!count) return cudaErrorInvalidValue;
    *count = static_cast<unsigned>(kernel_names(module).size());
    return cudaSuccess;
  });
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned room, cudaLibrary_t library) {
  return with_library("cudaLibraryEnumerateKernels", library, [&](CodeModule& module) {
    if (!kernels) return cudaErrorInvalidValue;
    for (const std::string& name : kernel_names(module)) {
      if (room == 0) break;
      *kernels++ = reinterpret_cast<cudaKernel_t>(&registry().kernel_named(&module, name));
      --room;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaLibraryGetGlobal(void** address, size_t* bytes, cudaLibrary_t library, const char* name) {
  return with_library("cudaLibraryGetGlobal", library, [&](CodeModule& module) {
    if (!name || (!address && !bytes)) return cudaErrorInvalidValue;
    const auto* const placed = module.program().variable(name);
    if (!placed) return cudaErrorSymbolNotFound;
    if (address) *address = reinterpret_cast<void*>(placed->address);
    if (bytes) *bytes = placed->size;
    return cudaSuccess;
  });
}
}
#endif
