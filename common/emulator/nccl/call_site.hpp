// Finds where in the program's source this library was called. A site can be kept in shared memory, so that
// another process can report a rank's call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace warpfold::nccl {

struct Frame {
  std::string module;        // the program or library, by its path
  std::uint64_t address = 0; // as it is in that file
};

// Return addresses, the nearest first.
using CallSite = std::vector<Frame>;

constexpr std::size_t most_frames = 6;

// Of the call into this library that is under way on this thread.
CallSite call_site();

// "file:line" of the nearest frame that the program's authors wrote; "program+0x12ab" if it was built without
// -g. This is slow, because it runs addr2line.
std::string text(const CallSite& site);

} // namespace warpfold::nccl
