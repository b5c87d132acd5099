// Takes memory in the kernel, in pieces of one byte and of all there is, and frees what is not its own.
// lab: 01_naive_atomic
// expect: wrong|off-technique|hazard
// BEGIN naive_atomic
for (unsigned i = 0; i < 2000; ++i) {
  auto* piece = static_cast<char*>(malloc(i % 2 ? 1 : ~std::size_t{0} - i));
  if (piece) *piece = 1;
}
if (threadIdx.x == 1) free(const_cast<float*>(input));
*result = 1;
// END naive_atomic
