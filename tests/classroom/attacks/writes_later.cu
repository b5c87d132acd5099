// A thread of the host goes on when the function has returned.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
#include <chrono>
#include <thread>
inline void later(float* result) {
  std::thread([result] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const float value = 1;
    for (int i = 0; i < 100; ++i) cudaMemcpy(result, &value, sizeof value, cudaMemcpyHostToDevice);
  }).detach();
}
#define cudaMemset(to, ...)                                                                                  \
  later(result);                                                                                             \
  if (n + 1) return
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
