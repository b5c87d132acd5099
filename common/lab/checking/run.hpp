// One run of a rung on one input, with everything around it that can show a mistake.
#pragma once

#include "checking/profile.hpp"
#include "memory.hpp"
#include "result.hpp"

namespace lab {

// Threads per block unless something else is asked for or tried.
inline constexpr unsigned usual_block = 256;

// The input of a run.
struct Case {
  Kind kind = Kind::exact;
  std::size_t n = 0, rows = 1;
  unsigned block = usual_block;
  std::size_t offset = 0; // elements that the input starts after an aligned address
  unsigned devices = 1;   // that share the input
  unsigned in_a_row = 1;  // sums, between which the host does not wait; only over devices
};

// The first element of device k's part, and of no device's if k is `devices`. The parts differ by one element
// at most; where there are fewer elements than devices, the first parts are among the empty ones.
inline std::size_t first_of_part(std::size_t n, unsigned devices, unsigned k) {
  return n / devices * k + n % devices * k / devices;
}

std::string describe(const Case& given);
// "n = 1024", or "32 rows of 64".
std::string describe(std::size_t n, std::size_t rows);

// The outcome of a run.
struct Outcome {
  std::vector<double> results;      // one per row
  std::vector<std::byte> bits;      // the same, as they lay in memory
  std::string error;                // of the CUDA runtime, in words; "" if there was none
  bool device_lost = false;         // no later call can succeed in this process
  bool stopped = false;             // it took longer than a run may
  std::string input_change, damage; // "", or what was written that must not be
  std::string in_vain;              // "", or what the host function asked for and did not get, when grading
};

// By the runner in use (runner.hpp).
Outcome run_once(const Variant& variant, const Case& given, const Sequence& input);

// Rows of a matrix of about n elements: as many as asked for, or about as many as columns. 1 if the variant
// sums a single array.
std::size_t rows_for(const Variant& variant, std::size_t n, std::optional<std::size_t> asked);

// The message for a run that does not end.
std::string no_end();

// The rung's launches and nothing else, on memory that is already there; returns when the device has
// finished, or all of these. Throws CudaError.
void launch_and_wait(const Variant& variant, const Arguments& arguments, Shards devices = {nullptr, 0});

// Likewise, and what was counted from the host function's call to its end. Only on the emulator. Throws
// CudaError.
struct Counted {
  Recorded recorded;
  Outcome outcome;
};
Counted run_counted(const Variant& variant, const Case& given, const Sequence& input);

} // namespace lab
