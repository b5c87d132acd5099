// Device memory for a check. On the emulator it has exactly the right size, and the emulator's guard zones
// catch every access beyond it; on a GPU it lies between canaries.
#pragma once

#include "input/sequence.hpp"

#include <cstddef>
#include <stdexcept>
#include <string>

namespace lab {

// An error of the CUDA runtime, in words.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct OutOfMemory : DeviceError {
  using DeviceError::DeviceError;
};

class DeviceBuffer {
public:
  // `bytes` bytes that start `offset` bytes after an address aligned to 256; messages call them `name`. Waits
  // up to 10 s for other programs to free as much. Throws OutOfMemory, and DeviceError on other errors.
  DeviceBuffer(std::string name, std::size_t bytes, std::size_t offset = 0);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  int device() const { return device_; } // that was in use when it was made
  // "" as long as the memory around the buffer is unchanged; otherwise says where it was written: "4 bytes
  // past the end of input".
  std::string damage() const;

private:
  std::string name_;
  void* allocation_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0, before_ = 0, after_ = 0;
  int device_ = 0;
};

// Puts a sequence's n elements into device memory.
void upload(const Sequence& input, void* destination);

// The index of the first of the sequence's elements that differs in device memory, or n.
std::size_t first_change(const Sequence& input, const void* device_memory);

// Fills `count` elements of device memory with the poison.
void fill_poison(Type type, Kind kind, std::size_t count, void* device_memory);

// The buffers that a rung asked for with lab::scratch. A new run gets them in the same order; on the emulator
// they are freed after each run, so that the emulator can tell what the run itself has not written.
class ScratchRun {
public:
  enum class Memory {
    left_as_it_is,
    kept,   // for timing, where allocating would be part of what is measured
    zeroed, // for a launch of which not all blocks run
  };
  explicit ScratchRun(Memory memory = Memory::left_as_it_is);
  ~ScratchRun();
  // Like DeviceBuffer::damage(), for all buffers of this run.
  std::string damage() const;

private:
  Memory memory_;
};
void release_scratch();

} // namespace lab
