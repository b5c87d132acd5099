// Whether a rung whose grid fits the device is right where that is small, and its blocks have more to do than
// on the emulator's usual one.
#pragma once

#include "input/options.hpp"
#include "judge/check.hpp"
#include "promises/rung.hpp"
#include "run/device.hpp"

#include <optional>
#include <string>

namespace lab {

// While this object lives, the emulated device has one multiprocessor.
class OneMultiprocessor {
public:
  OneMultiprocessor();
  ~OneMultiprocessor();
  OneMultiprocessor(const OneMultiprocessor&) = delete;
  OneMultiprocessor& operator=(const OneMultiprocessor&) = delete;
  std::string in_words() const; // before what was tried on it

private:
  Device usual_;
};

// Nothing if the rung asks for no such run, or on a GPU.
std::optional<FurtherCheck> check_on_small_device(const Rung& rung, const Options& options);

} // namespace lab
