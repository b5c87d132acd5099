// A communicator, as one rank of it holds it.
#pragma once

#include "patience.hpp"
#include "segment.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cuda_runtime_api.h>
#include <functional>
#include <memory>
#include <mutex>
#include <nccl.h>
#include <string>
#include <vector>

namespace warpfold::nccl {

class Turn {
public:
  // Waits until no rank has it. False if the communicator fails meanwhile.
  bool take(Segment& segment);
  void give_back();

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_taken_ = false;
};

// Of ncclRedOpCreatePreMulSum.
struct Scalar {
  const void* pointer = nullptr;       // null: `value` holds it
  std::array<std::byte, 8> value = {}; // of its type, at the beginning
};
struct ScaledSum {
  int type = 0;
  Scalar scalar;
};

} // namespace warpfold::nccl

// NVIDIA's name for it, to which the program has pointers.
struct ncclComm {
  std::unique_ptr<warpfold::nccl::Segment> segment;
  int device = 0;

  // Where pieces of data wait between device memory and the shared segment.
  std::byte *outgoing = nullptr, *incoming = nullptr;
  std::byte* scalar = nullptr; // of the scaled sum that is under way
  // After the work that was issued last. Work in another stream waits for it, so that the pieces keep their
  // order.
  cudaEvent_t last = nullptr;
  cudaStream_t last_stream = nullptr;
  bool has_work = false;

  // The same among the calls that were captured into one graph.
  unsigned long long captured_by = 0;
  cudaEvent_t last_captured = nullptr;
  cudaStream_t last_captured_stream = nullptr;

  std::uint64_t calls[warpfold::nccl::sequences] = {}; // collectives so far
  std::uint64_t& calls_of(warpfold::nccl::Sequence sequence) {
    return calls[static_cast<std::size_t>(sequence)];
  }
  struct WithPeer {
    std::uint64_t sends = 0, receives = 0; // that were called
    struct {
      std::uint64_t sends = 0, receives = 0, pieces_sent = 0, pieces_received = 0;
    } carried_out; // by who has the turn
  };
  std::vector<WithPeer> with_peer;

  // Calls are carried out one after another, those in graphs too. What follows belongs to who has the turn.
  warpfold::nccl::Turn turn;
  std::uint64_t pieces = 0; // of collectives
  std::uint64_t id = 0;     // no other communicator of this process has or had it
  bool is_finalized = false;

  // By ncclRedOp_t, from ncclNumOps upwards; null once it is destroyed.
  std::vector<std::unique_ptr<warpfold::nccl::ScaledSum>> scaled_sums;
  const warpfold::nccl::ScaledSum* scaled_sum(int op) const {
    const auto index = static_cast<std::size_t>(op - ncclNumOps);
    return op >= ncclNumOps && index < scaled_sums.size() ? scaled_sums[index].get() : nullptr;
  }

  int rank() const { return segment->rank(); }
  int size() const { return segment->size(); }
};

namespace warpfold::nccl {

// The comm, if it is one that has been made and not destroyed; else null.
ncclComm* live(ncclComm_t comm);

struct Joining {
  ncclComm_t* made = nullptr;
  int size = 0, rank = 0, device = 0;
  std::string segment = {};
  CallSite site = {};
};

// Joins communicators, all at once: the ranks of each may be among them. Waits for those that are elsewhere.
ncclResult_t join(std::vector<Joining>& all, const std::string& advice);
// The number of communicators that this process has asked for, one for each rank.
unsigned long long communicators_so_far();

// Waits for the work that was issued, unless `at_once`, and frees all. The other ranks learn that this one
// left.
ncclResult_t leave(ncclComm* comm, const CallSite& site, bool at_once);
ncclResult_t finalize(ncclComm* comm);

// Makes a device the current one of this thread while it exists.
class UseDevice {
public:
  explicit UseDevice(int device);
  ~UseDevice();
  UseDevice(const UseDevice&) = delete;
  UseDevice& operator=(const UseDevice&) = delete;

private:
  int before_ = 0;
};

// A CUDA call that must succeed; else throws CudaFailure with its name.
struct CudaFailure {
  std::string text;
};
void check(cudaError_t error, const char* what);

// Which ranks of one process this thread has called for, outside of a group in common: NCCL may wait in a
// call for the other ranks, so these calls can hang on GPUs. `what` is the same for the calls that wait for
// each other. Returns the error then, else ncclSuccess.
ncclResult_t note_thread(Segment& segment, std::string what, std::uint64_t group, const Call& call);

} // namespace warpfold::nccl
