// Templates without end.
// lab: 01_naive_atomic
// stopped by: the compiler
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
template <unsigned long N, unsigned D>
struct Bomb {
  static constexpr unsigned long value = Bomb<2 * N, D - 1>::value + Bomb<2 * N + 1, D - 1>::value;
};
template <unsigned long N>
struct Bomb<N, 0> {
  static constexpr unsigned long value = N;
};
constexpr unsigned long boom = Bomb<1, 40>::value;
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
