// Who allocated and who freed memory, for the report of a call that frees the wrong thing. Does nothing
// unless checks are on.
#pragma once

#include "machine/address_space.hpp"

namespace warpfold::runtime {

// This call has allocated or freed what begins there.
void note_owner(const void* begin);
// Of the call `caller`: what it was to free.
void note_freed_twice(const char* caller, const machine::Allocation& freed);
void note_freed_inside(const char* caller, const void* pointer, const machine::Allocation& allocation);

} // namespace warpfold::runtime
