// An OpenCL device in use: its memory, its queue, and the program compiled for it.
#pragma once

#include "opencl.hpp"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace lab::opencl {

// The kernels do not compile; the message is the compiler's.
struct BuildError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Every call that OpenCL refuses throws DeviceError.
class Context {
public:
  explicit Context(cl_device_id device);

  // Compiles kernels; messages and reports name the file at `path`. Throws BuildError.
  void build(const std::string& kernels, const std::string& path);
  // Commands run in the order of the calls; finish() waits for all of them.
  void launch(const char* kernel, std::size_t groups, std::size_t group,
              std::initializer_list<Argument> arguments) const;
  void finish() const;

  // Memory that messages call by this name. It may be empty.
  cl_mem allocate(std::size_t bytes, const std::string& name) const;
  void write(cl_mem memory, std::size_t offset, const void* from, std::size_t bytes) const;
  void read(cl_mem memory, void* to, std::size_t bytes) const;

private:
  template <auto release>
  struct Release {
    template <class Object>
    void operator()(Object* object) const {
      release(object);
    }
  };
  template <class Handle, auto release>
  using Owner = std::unique_ptr<std::remove_pointer_t<Handle>, Release<release>>;

  cl_device_id device_;
  Owner<cl_context, clReleaseContext> context_;
  Owner<cl_command_queue, clReleaseCommandQueue> queue_;
  Owner<cl_program, clReleaseProgram> program_;
};

// Where this memory lies on the emulator; 0 elsewhere.
std::uint64_t address_of(cl_mem memory);

} // namespace lab::opencl
