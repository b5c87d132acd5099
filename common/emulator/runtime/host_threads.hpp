// What the program's own threads know of work by other ways than CUDA's waits.
//
// A host function comes after the work that its stream has done before it, and so does a thread that it
// starts, or that waits for it: by pthread_join, a mutex, a condition variable or a semaphore, on which those
// of the standard library are built. Such a thread knows that this work is complete. What it knows is passed
// on in the same ways, and to all threads of the host when it calls CUDA itself: there, they count as one
// (watch/host_order.hpp). A wait by an atomic variable, and so by a std::future, a std::latch or a
// std::barrier, is not seen.
#pragma once

#include "watch/host_order.hpp"

#include <cstdint>
#include <memory>

namespace warpfold::runtime::ordering {

using Known = std::shared_ptr<const watch::Clock>;

// Whether this thread knows more than all threads of the host do: that this operation is complete. Takes no
// lock and allocates nothing, so a signal handler may call it.
bool thread_knows(std::uint32_t actor, std::uint32_t number);

// What this thread knows, null if nothing; from now on, all threads of the host do.
Known take_what_thread_knows();

// As long as this lives, the thread executes a host function, before which all of `view` is complete.
class InHostFunction {
public:
  explicit InHostFunction(const watch::Clock& view);
  ~InHostFunction();
  InHostFunction(const InHostFunction&) = delete;
  InHostFunction& operator=(const InHostFunction&) = delete;
};

} // namespace warpfold::runtime::ordering
