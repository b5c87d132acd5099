// NCCL's types and operators, on the host.
#pragma once

#include <cstddef>
#include <nccl.h>

namespace warpfold::nccl {

// Bytes of an element; 0 for what is no type, or none that the stand-in has.
std::size_t size_of(int type);

// What ncclRedOpCreatePreMulSum makes: the ranks' sum of scaled elements.
constexpr int scaled_sum = ncclNumOps;

// values[i] = values[i] * scalar, which is an element of that type.
void scale(int type, const void* scalar, void* values, std::size_t count);

// into[i] = into[i] op from[i]. In half precision each result is rounded to the nearest, ties to even, as a
// GPU does it. ncclAvg and scaled sums
// add; `finish` divides.
void combine(int type, int op, void* into, const void* from, std::size_t count);

// What remains to be done when all ranks' elements are combined.
void finish(int type, int op, int ranks, void* values, std::size_t count);

} // namespace warpfold::nccl
