// What a host function has asked of the device, to be done again without it on an input that lies elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace lab::grading {

struct Range {
  std::uint64_t begin = 0, end = 0;
  bool holds(std::uint64_t first, std::uint64_t bytes) const {
    return first >= begin && first <= end && bytes <= end - first;
  }
};

// Where the input of a recorded run was, and how much further on that of this run begins.
struct Moved {
  Range input;
  std::uint64_t by = 0;
  std::uint64_t operator()(std::uint64_t address) const {
    return by != 0 && input.holds(address, 0) ? address + by : address;
  }
  void* pointer(std::uint64_t address) const { return reinterpret_cast<void*>((*this)(address)); }
};

struct Recording {
  using Step = std::function<void(const Moved&)>;
  Range input;
  std::vector<Step> steps;

  void replay(std::uint64_t input_now) const {
    const Moved moved{input, input_now - input.begin};
    for (const Step& step : steps) step(moved);
  }
};

// A kernel's parameter, aligned for any type.
struct Parameter {
  std::shared_ptr<std::byte[]> bytes;
  std::uint32_t size = 0;
};

} // namespace lab::grading
