// The trusted half of a graded lab program. The student's host functions run in another process, in a sandbox
// (common/classroom/recorder). What they ask of the device is done here, with the student's PTX, on the
// emulator or a GPU. Neither the inputs nor the expected results ever leave this process, except for what a
// rung is allowed to read back.
#pragma once

#include "promises/rung.hpp"

#include <span>
#include <stdexcept>
#include <string>

namespace lab {

struct Options;

// The student's process ended, stopped answering, or sent something invalid: nothing more can be run with it.
struct HostLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// From now on the rungs' host functions are those of the process at the other end of `options.host`, and
// kernels are those of the PTX in `options.device_code`. The rungs must be in the order of the lab's main().
// Throws HostLost, and std::runtime_error if the PTX cannot be read.
void use_host_process(std::span<Rung> rungs, const Options& options);

// Where a variant stands in main()'s list, in place of its function's address, once number_variants() was
// called.
struct VariantNumber {
  std::size_t rung = 0, variant = 0;
};
void number_variants(std::span<Rung> rungs, void (*invoke)(Variant::Function, const Arguments&));
VariantNumber number_of(const Variant& variant);

// While one exists, a host function is run once for the same arguments; after that, what it has asked of the
// device is done again without it, as the way to the other process would take longer than many a kernel.
// The input may lie elsewhere each time: pointers into it are moved along. Where the host function reads
// device memory or allocates some, it runs each time. Scratch memory must stay as it is. For timing.
class Replaying {
public:
  Replaying();
  ~Replaying();
  Replaying(const Replaying&) = delete;
  Replaying& operator=(const Replaying&) = delete;
};

} // namespace lab
