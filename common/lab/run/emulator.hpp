// Counters and hazards from the emulator, through its C interface, which is looked up at run time so that a
// lab program never links to it.
#pragma once

#include "run/recorded.hpp"

#include <functional>

namespace lab {

Recorded record(const std::function<void()>& run);
// With the launches, which the report lists one by one; else it has only their totals.
Recorded record_launches(const std::function<void()>& run);
// What it has recorded so far; any thread may ask.
Recorded recorded_so_far();
// The same from the emulator's report. Throws nlohmann::json's exceptions if it is none.
Recorded recorded_from(std::string report);

// The emulator in this process.
namespace emulator {
void reset();
std::string report();
void set(const std::string& option, const std::string& value);
} // namespace emulator

// While values are followed: where these results come from, as JSON; otherwise "".
std::string where_from(const void* results, std::size_t width, std::size_t count);

// How many launches have ended since record() began, without waiting for others; any thread may ask. 0 on a
// GPU.
std::size_t launches_so_far();

// Leaves out the hazards that neither fail a check nor explain this result.
void leave_out_harmless(std::vector<Hazard>& hazards, bool right, bool not_a_number);

// From now on, kernels are watched for races, reads of unwritten memory and leaks, which makes a verdict more
// than a comparison of results. Settings in the user's environment take precedence. Only on the emulator.
void check_all_hazards();

// While this object lives, launches are neither watched nor recorded or traced, and run faster.
class WithoutChecks {
public:
  WithoutChecks();
  ~WithoutChecks();
  WithoutChecks(const WithoutChecks&) = delete;
  WithoutChecks& operator=(const WithoutChecks&) = delete;
};

// While this object lives, blocks, warps and sides of branches take their turns in another order:
// "backwards", or "shuffled:1", where the number is a seed. Nothing on a GPU.
class Scheduled {
public:
  explicit Scheduled(const char* order);
  ~Scheduled();
  Scheduled(const Scheduled&) = delete;
  Scheduled& operator=(const Scheduled&) = delete;
};

// While this object lives, only the first and the last block of each launch run, and nothing is checked or
// recorded, whatever the user's environment says: fresh memory is 0, and takes no room until it is written.
class EndsOnly {
public:
  EndsOnly();
  ~EndsOnly();
  EndsOnly(const EndsOnly&) = delete;
  EndsOnly& operator=(const EndsOnly&) = delete;
};

// Gives all __device__ variables the values that they began with. Only on the emulator.
void restore_variables();

// While this object lives, device memory cannot be read or written by the host's own loads and stores, as on
// a GPU: a rung whose host code does so is wrong, with that reason. Settings in the user's environment take
// precedence. Nothing on a GPU. Not before MPI has started, since libraries that it loads may handle signals,
// and the emulator's handlers must come after theirs.
class DeviceMemoryClosed {
public:
  DeviceMemoryClosed();
  ~DeviceMemoryClosed();
  DeviceMemoryClosed(const DeviceMemoryClosed&) = delete;
  DeviceMemoryClosed& operator=(const DeviceMemoryClosed&) = delete;
};

// From now on, a block that executes more warp instructions than this without ending is stopped as endless.
// Settings in the user's environment take precedence. Only on the emulator.
void limit_steps(std::size_t warp_instructions);
// From now on, only the first lines that a launch prints are shown: a kernel of a million threads would print
// a million. The user's environment takes precedence here too.
void limit_printing();

// From now on, blocks run one after the other, so that each run of the program gives the same output; or on
// all cores. Does nothing on a GPU.
void run_in_order(bool in_order);

// From now on, a launch that has not ended after so many seconds is stopped as endless. Settings in the
// user's environment take precedence. Only on the emulator.
void limit_launches(double seconds);

// Stops what runs on the device, and lets nothing start. Any thread may call it. Does nothing on a GPU.
void interrupt_device();

// From now on, kernels may not write to these bytes of device memory either; a null pointer: they
// may write to all. Does nothing on a GPU.
void protect_input(const void* begin, std::size_t bytes);

// From now on, hazards and traces call the allocation that holds `begin` by this name, and count its elements
// from there. Does nothing on a GPU.
void name_memory(const void* begin, const std::string& name);

} // namespace lab
