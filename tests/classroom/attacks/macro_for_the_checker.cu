// A macro gives the checker's name to something else.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
namespace forged {
template <class... T>
int main(T&&...) {
  return 0;
}
} // namespace forged
struct Pair { template <class A, class B> Pair(A, B) {} };
namespace forged { inline int main(int, char**, std::initializer_list<Pair>) { return 0; } inline unsigned long ceil_div(unsigned long, unsigned long) { return 1; } }
#define lab forged
__global__ void unused(const float* input, float* result, std::size_t n) {
// END naive_atomic
