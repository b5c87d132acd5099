// A macro gives the checker's name to a main that finds everything right.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
extern "C" int puts(const char*);
namespace forged {
using namespace lab;
struct Pair {
  template <class A, class B>
  Pair(A, B) {}
};
inline int main(int, char**, std::initializer_list<Pair>) {
  puts("{\"rungs\": [{\"name\": \"naive_atomic\", \"state\": \"pass\"}]}");
  return 0;
}
inline unsigned long ceil_div(unsigned long, unsigned long) {
  return 1;
}
} // namespace forged
#define lab forged
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
