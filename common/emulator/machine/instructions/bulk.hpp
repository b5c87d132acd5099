// Bulk asynchronous copies and reductions: the forms of cp.async.bulk and cp.reduce.async.bulk.
#pragma once

#include "machine/decoder.hpp"

namespace warpfold::machine {

void decode_bulk_copy(Decoder& decoder, const ptx::Instruction& in);
void decode_bulk_reduction(Decoder& decoder, const ptx::Instruction& in);

} // namespace warpfold::machine
