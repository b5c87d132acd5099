// What processes of one machine share: memory of emulated devices, and events.
#pragma once

#include "runtime/streams/queues.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace warpfold::runtime {

// Whether another process may write this one's memory, now or later: a file or an event was shared.
bool has_shared_any();

// A file without a name that another process can open by this process's number and the file's.
class SharedFile {
public:
  explicit SharedFile(std::size_t bytes);  // a new one. Throws Refusal
  SharedFile(int process, int descriptor); // another process's. Throws Refusal
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  int descriptor() const { return descriptor_; }
  // At this address, which must be that of a page, or anywhere if it is null. Throws Refusal.
  void* map(void* at, std::size_t bytes) const;

private:
  int descriptor_ = -1;
};

// An event that several processes see (cudaEventInterprocess): how often it was recorded, and which of these
// records is over.
class SharedEvent {
public:
  SharedEvent();
  SharedEvent(int process, int descriptor);
  ~SharedEvent();
  SharedEvent(const SharedEvent&) = delete;
  SharedEvent& operator=(const SharedEvent&) = delete;
  int descriptor() const { return file_.descriptor(); }
  std::uint64_t record() { return ++state_->recorded; }
  void pass(std::uint64_t record);
  // When what was recorded last is over, in whichever process.
  static Point last(const std::shared_ptr<SharedEvent>& event);

private:
  struct State {
    std::atomic<std::uint64_t> recorded, over;
  };
  class Recorded;
  SharedFile file_;
  State* state_ = nullptr;
};

} // namespace warpfold::runtime
