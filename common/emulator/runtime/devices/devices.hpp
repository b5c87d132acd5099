// The emulated devices of this process: how many there are, and which one the calling thread uses.
#pragma once

#include "runtime/cuda_api.hpp"

#include <vector>

namespace warpfold::runtime {

// How many devices the program sees.
int device_count();
bool several_devices();
// Whether work is done later than the call that issues it (queues.hpp): with several devices, and from when a
// kernel waits for what only the host can write.
bool works_later();
void work_later();

// The device that the calling thread uses (cudaSetDevice): 0 at first.
int current_device();
void set_current_device(int device);

// Throws Refusal (cudaErrorInvalidDevice) if there is no device with this number.
void check_device(int device);

// Which of the machine's devices the program sees, in the order of their numbers: all `count` of them, or
// those that the text lists (CUDA Programming Guide, "CUDA Environment Variables": up to the first that does
// not exist). A text that begins with no number hides GPUs ("", "NoDevFiles", "-1") or names one
// ("GPU-8932f937"), and says nothing of emulated devices.
std::vector<int> visible_devices(int count, const char* text);

// Counts the bytes of a copy between two devices, for the report.
void count_peer_copy(const void* destination, const void* source, std::size_t size);

} // namespace warpfold::runtime
