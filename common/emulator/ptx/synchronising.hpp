// What the text of a program tells of its accesses to memory that other threads write meanwhile: which of
// them wait until another thread has written, and which take no notice of what they find.
#pragma once

#include "ptx/control_flow.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace warpfold::ptx {

struct Synchronising {
  // A volatile or strong load, or an atomic, in a loop whose end depends on the value that it finds, at an
  // address that the loop leaves as it is: it looks again and again until another thread has written what it
  // waits for. So does a load before the loop whose value goes into the same variable. An atomic that
  // exchanges (cas, exch) there takes a lock.
  bool polls : 1 = false;
  bool takes_lock : 1 = false;
  // An atomic whose old value is not used.
  bool ignores_value : 1 = false;
  // A load, a plain one as a rule, whose value a loop of atomicCAS at the same address begins with: should
  // the value be an old one, the atomicCAS finds out.
  bool guesses : 1 = false;
};

// By instruction of the body. What a loop finds in a function that it calls is not followed.
std::vector<Synchronising> synchronising(const Function& function, std::span<const BasicBlock> blocks);

} // namespace warpfold::ptx
