// What a copy or fill may access.
#pragma once

#include "machine/address_space.hpp"
#include "runtime/cuda_api.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace warpfold::runtime {

// The live allocation that the pointer lies in; nothing for memory that only the host knows about.
std::optional<machine::Allocation> allocation_of(const void* pointer);

// Throws Refusal (cudaErrorInvalidValue) unless `size` bytes at `pointer` lie in one live allocation. `what`
// names the pointer for the message: "the destination".
void check_device_range(const char* what, const void* pointer, std::size_t size);

// The same for a pointer that may also point to the host's own memory, which cannot be checked.
void check_any_range(const char* what, const void* pointer, std::size_t size);

// The bytes of a variable that a copy touches. Throws Refusal (cudaErrorInvalidValue) if they extend beyond
// its end.
std::byte* inside_symbol(const void* symbol, std::size_t size, std::size_t offset);

// Checks both ends of a copy of `size` bytes against its direction.
void check_copy(const void* destination, const void* source, std::size_t size, cudaMemcpyKind kind);

// Tells the checks that device memory counts as written from now on, whatever the source held. `source`: what
// was copied; null for anything else.
void note_written(const void* begin, std::size_t size, const void* source = nullptr);

// Reports a copy to the host of device memory that nothing has written. Within the work that copies.
void check_written(const void* destination, const void* source, std::size_t size);

// Counts a copy between the host and the device for the report; ignores other copies.
void count_copy(const void* destination, const void* source, std::size_t size);

// "byte 4096 of allocation 3 (4096 bytes), which was freed": where an address lies, in words.
std::string describe(const void* pointer);

} // namespace warpfold::runtime
