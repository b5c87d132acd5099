// The report, which is written at the end of the process or when a program asks for it: launches with their
// counters, in total and by source line, and hazards. docs/reference/report.md explains its keys.
#pragma once

#include "hazards.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace warpfold::analysis {

// Records what a process did. Safe to call from several threads.
class Recorder {
public:
  Recorder();
  ~Recorder();
  void add(const machine::LaunchRecord& record);
  void add(Hazard hazard); // once for each kind and pair of places; repeats are counted
  // Those of another run of the same launch, unless one that two accesses make is known at one of its places.
  void add_new(const std::vector<Hazard>& of_another_run);
  // The faults of this launch get its place too, now that it is known.
  void place_launch(const std::string& call, const std::string& with_place);
  std::vector<Hazard> take_hazards();
  void add_launch_in_both_orders();
  void add_copy(bool to_host, std::uint64_t bytes); // one that the host asked for, from the device or to it
  void add_copy_on_devices(std::uint64_t bytes);    // one from device memory to device memory
  void add_peer_copy(int from, int to, std::uint64_t bytes); // one between two devices
  void add_serialised_copy();     // one that waits for all work of two devices, which waits for it
  void add_pulled_copy();         // one in a stream of another device than the one that it reads from
  void add_launch_after_others(); // that waits for another device's kernel, which the host has not waited for
  void add_host_wait(); // a call in which the host waits for a stream, an event or a device, or asks again
  void reset();
  void set_work(std::string words);     // what the hazards that follow are seen during
  void keep_launches(std::size_t most); // beyond this number, only the totals are kept
  std::string json() const;
  std::size_t hazard_count() const;
  std::size_t launch_count() const;
  std::function<void()> on_new_hazard; // set before the first launch; any thread calls it

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace warpfold::analysis
