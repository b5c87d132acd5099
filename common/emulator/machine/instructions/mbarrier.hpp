// Barriers in shared memory (PTX ISA 9.7.13.15), as far as asynchronous copies need them.
#pragma once

#include "machine/access.hpp"

namespace warpfold::machine {

// A lane's barrier at a generic address or an offset in shared memory: one arrival, or bytes that have come.
void arrive_at_mbarrier(Warp& warp, const Operation* op, unsigned lane, std::uint64_t address);
void complete_bytes(Warp& warp, const Operation* op, unsigned lane, std::uint64_t address,
                    std::uint32_t bytes,
                    bool of_bulk_copy = true); // one is counted, and tells the watcher of a release

// How many phases of the lane's barrier are complete.
std::uint32_t phase_of(Warp& warp, const Operation* op, unsigned lane, std::uint64_t address);

// An address operand that is not the instruction's first: its row, width and offset in Code::lists.
void append_address(std::vector<std::uint32_t>& words, const Decoder::Address& address);
Request read_listed_address(Warp& warp, const Operation* op, unsigned first_word);

} // namespace warpfold::machine
