// Device code of another program, as PTX text, and its kernels by name: on the emulator, or through NVIDIA's
// driver, which compiles it for the GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lab::grading {

class DeviceCode {
public:
  struct Kernel {
    const void* handle = nullptr;          // for cudaLaunchKernel
    std::vector<std::uint32_t> parameters; // their sizes, bytes
  };

  explicit DeviceCode(std::string ptx) : ptx_(std::move(ptx)) {}
  // By its mangled name; null if there is none, or if the PTX cannot be read. Throws std::runtime_error if
  // the device or its driver cannot take such code at all.
  const Kernel* find(const std::string& name);

private:
  std::string ptx_;
  void* module_ = nullptr;
  std::map<std::string, Kernel> kernels_; // without a handle: there is no kernel of that name
};

} // namespace lab::grading
