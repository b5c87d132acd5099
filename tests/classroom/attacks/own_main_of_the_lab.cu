// Closes its brace and brings along the function that runs the checks.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
namespace lab {
int main(int, char**, std::initializer_list<Implementation>, const char*) {
  return 0;
}
} // namespace lab
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
