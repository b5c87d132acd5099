// When a host function begins, and what the host may know from then on.
//
// A host function comes after the work that its stream has done before it. It may tell any thread of the
// program that this work is complete: by a mutex, by an atomic variable, by a std::promise. Most of that is
// compiled into the program, and cannot be seen. So what a host function comes after counts as known to the
// host as soon as the function has begun: a wait that is not seen must not become a false report.
//
// Before it has begun, no thread knows anything through it. Therefore, while the host's own loads and stores
// are watched, it begins only when a thread of the program waits for work, or after a while: a program that
// does not wait is found at what it accesses meanwhile.
#pragma once

#include "analysis/host_order.hpp"

#include <cstdint>

namespace warpfold::runtime::ordering {

// Where a host function is issued.
class LateStart {
public:
  LateStart();
  // On the thread that executes it: returns when it is to begin. Whether a thread of the program waits for
  // work; otherwise, they may do anything meanwhile.
  bool wait() const;

private:
  std::uint64_t waits_before_;
};

// A thread of the program waits for work.
void host_functions_begin();

// What a host function that begins comes after. One call at a time.
void may_be_known(const analysis::Clock& view);
// Whether the host may know that this operation is complete. Takes no lock and allocates nothing, so a signal
// handler may call it.
bool is_perhaps_known(std::uint32_t actor, std::uint32_t number);

} // namespace warpfold::runtime::ordering
