// Tells an emulator that follows values what this library has done to them on the host.
#pragma once

#include "segment.hpp"

#include <vector>

namespace warpfold::nccl {

// Of a call of this rank's: each of `count` elements at `result` has been combined of those at the sources.
void note_combined(Segment& segment, const Call& call, const void* result,
                   const std::vector<const void*>& sources, std::size_t count);
void note_copied(Segment& segment, const Call& call, const void* to, const void* from, std::size_t bytes);

} // namespace warpfold::nccl
