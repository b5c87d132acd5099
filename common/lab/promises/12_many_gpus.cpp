#include "promises/usual.hpp"

#include <algorithm>

namespace lab::promises {
namespace {

double others(const Size& s) {
  return s.devices - 1.0;
}
double one_per_device(const Size& s) {
  return s.devices;
}
// The stand-in for NCCL takes a sum per device through the host. How often it is called is another promise.
double few_per_device(const Size& s) {
  return 4 * s.devices;
}
double ordered_pairs(const Size& s) {
  return s.devices * (s.devices - 1.0);
}

// On each device: a walk over its shard, a tree over the block, a walk over the blocks' sums and a tree over
// those; then the devices' sums.
double depth_of_all(const Size& s) {
  const double shard = double(ceil_div(s.n, s.devices));
  const double blocks = std::min<double>(shard / s.block + 1, resident_blocks(s.block));
  return shard / (blocks * s.block) + 1 + 10 + blocks / s.block + 1 + 10 + s.devices;
}

Promise no_waiting_host() {
  return none(Counter::host_waits,
              "the host must issue all work without waiting for any of it; events order it on the devices");
}
// The devices' sums come first, and only what adds them up waits for them.
Promise devices_work_at_once(Formula waiting) {
  return at_most(Counter::launches_after_others, waiting,
                 "all devices must work at the same time: only the launch that adds up their sums waits for "
                 "other devices");
}
Promise nothing_read_from_peers() {
  return none(Counter::peer_load_sectors, "no kernel may read another device's memory here");
}
Promise nothing_written_to_peers() {
  return none(Counter::peer_store_sectors, "no kernel may write to another device's memory here");
}
Promise nothing_copied() {
  return none(Counter::peer_copy_bytes, "nothing is copied from device to device here");
}
Promise one_call_of_nccl(Formula calls) {
  return equal(Counter::nccl_calls, calls, "one call of NCCL per device adds up the devices' sums");
}
Promise one_result_of_nccl() {
  return equal(Counter::nccl_results, one,
               "one device needs the sum of all, and ncclReduce gives it to that one alone");
}
// And the sums of the blocks once more, by the last block of each device, and those of the devices.
Promise each_element_read_once() {
  return at_most(
      Counter::elements_read, [](const Size& s) { return double(s.n) + s.blocks + s.devices; },
      "each element must be read once, on the device that has it");
}

} // namespace

std::vector<Rung> many_gpus() {
  return {
      Rung("peer_copies")
          .depth(depth_of_all)
          .promise(equal(
              Counter::peer_copy_bytes, [](const Size& s) { return 4 * others(s); },
              "each other device's sum must be copied to the first, and nothing else"))
          .promise(equal(
              Counter::launches, [](const Size& s) { return s.devices + 1.0; },
              "one launch per device for its shard, and one that adds up the devices' sums"))
          .promise(equal(
              Counter::warps, [](const Size& s) { return (s.blocks - 1) * s.warps() + 1; },
              "one warp is enough for the devices' sums"))
          .promise(devices_work_at_once(one))
          .promise(no_waiting_host())
          .promise(none(Counter::serialised_copies,
                        "a copy must wait for its own stream only: cudaMemcpyPeerAsync, with the stream"))
          .promise(none(Counter::pulled_copies,
                        "each device's sum must be copied in that device's own stream; in one stream, the "
                        "copies come one after another"))
          .promise(nothing_read_from_peers())
          .promise(nothing_written_to_peers())
          .promise(each_element_read_once())
          .same_bits(),
      Rung("peer_reads")
          .depth(depth_of_all)
          .promise(equal(Counter::peer_load_sectors, others,
                         "the first device must read each other device's sum once"))
          .promise(at_most(Counter::peer_load_requests, one,
                           "there is a lane for each device: all sums must be read at the same time, not one "
                           "after another"))
          .promise(equal(
              Counter::launches, [](const Size& s) { return s.devices + 1.0; },
              "one launch per device for its shard, and one that adds up the devices' sums"))
          .promise(devices_work_at_once(one))
          .promise(nothing_copied())
          .promise(nothing_written_to_peers())
          .promise(no_float_atomics())
          .promise(no_waiting_host())
          .promise(each_element_read_once())
          .same_bits(),
      Rung("nccl_reduce")
          .depth(depth_of_all)
          .on_the_host_at_most(few_per_device)
          .promise(equal(Counter::launches_per_device, one,
                         "one launch per device for its shard; NCCL does the rest"))
          .promise(one_call_of_nccl(one_per_device))
          .promise(
              none(Counter::nccl_communicators,
                   "to make communicators takes far longer than a sum, so they are made once for all calls"))
          .promise(one_result_of_nccl())
          .promise(each_element_read_once()),
      Rung("one_kernel")
          .depth(depth_of_all)
          .promise(equal(Counter::launches_per_device, one, "everything happens in one launch per device"))
          .promise(at_most(
              Counter::peer_store_sectors, [](const Size& s) { return 2 * ordered_pairs(s); },
              "each device must write its sum and a mark to each other device once"))
          .promise(at_least(Counter::peer_store_sectors, ordered_pairs,
                            "each device must write its sum into each other device's memory"))
          .promise(at_most(
              Counter::peer_store_requests, [](const Size& s) { return 2.0 * s.devices; },
              "there is a lane for each device: a device's letters must go out at the same time, first all "
              "sums and then all marks"))
          .promise(none(Counter::peer_load_sectors,
                        "a device must wait for marks in its own memory: each look at another's takes a trip "
                        "over the link and back"))
          .promise(nothing_copied())
          .promise(no_waiting_host())
          .same_bits(),
      Rung("rank_per_gpu")
          .depth(depth_of_all)
          .on_the_host_at_most(few_per_device)
          .promise(equal(
              Counter::launches, [](const Size& s) { return double(s.devices); },
              "each process launches one kernel, for its own shard; NCCL does the rest"))
          .promise(one_call_of_nccl(one))
          .promise(one_result_of_nccl())
          .promise(each_element_read_once())};
}

} // namespace lab::promises
