// #embed of a file of the grader's.
// lab: 01_naive_atomic
// stopped by: the compiler
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
static const unsigned char stolen[] = {
#embed "/etc/passwd"
};
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
