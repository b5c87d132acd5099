// One thread adds up everything in place, by volatile reads of four, which no promise counted.
// lab: 02_tree
// expect: off-technique
// BEGIN in_place_sequential
const unsigned t = threadIdx.x;
if (t == 0 && n > 0) {
  float sum = 0;
  unsigned k = 0;
  if (reinterpret_cast<std::size_t>(data) % 16 == 0)
    for (; k + 4 <= n; k += 4) {
      float a, b, c, d;
      asm volatile("ld.volatile.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
                   : "l"(data + k));
      sum += a + b + c + d;
    }
  for (; k < n; ++k) sum += *(volatile float*)(data + k);
  data[0] = sum;
}
// END in_place_sequential
