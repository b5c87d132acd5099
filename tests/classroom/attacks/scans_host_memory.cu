// Reads the host's memory, where the expected value must lie.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
const auto* host = reinterpret_cast<const float*>(0x7ffff0000000ul + 4096 * i);
atomicAdd(result, *host);
// END naive_atomic
