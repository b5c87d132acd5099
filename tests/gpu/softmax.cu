// The solved rungs of lab 13 as functions of a library, for softmax.py: they are timed in one process with
// PyTorch.
//
//   nvcc -O3 -std=c++17 -arch=native -Icommon/lab -shared -Xcompiler -fPIC tests/gpu/softmax.cu -o
//   libsoftmax.so
#include "lab.hpp"

// What the lab needs of its library, which checks and is not here.
namespace lab {
static int main_of_lab(int, char**, std::initializer_list<Implementation>) {
  return 1;
}
} // namespace lab
#define main main_of_lab
#include "../../solutions/13_softmax/softmax.cu"
#undef main

unsigned lab::multiprocessors() {
  int count = 0;
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0);
  return static_cast<unsigned>(count);
}

namespace {

template <class T>
using Rung = void (*)(const T*, T*, lab::MatrixShape, unsigned);

template <class T>
int run(Rung<T> rung, const void* input, void* output, std::size_t rows, std::size_t columns,
        unsigned block) {
  rung(static_cast<const T*>(input), static_cast<T*>(output), {rows, columns}, block);
  return cudaGetLastError();
}

} // namespace

// Each takes a matrix on the device and returns a cudaError_t.
#define RUNG(name, rung, type)                                                                               \
  extern "C" int name(const void* input, void* output, std::size_t rows, std::size_t columns,                \
                      unsigned block) {                                                                      \
    return run<type>(rung, input, output, rows, columns, block);                                             \
  }
RUNG(three_reads_float32, three_reads, float)
RUNG(online_float32, online, float)
RUNG(kept_float32, kept<float>, float)
RUNG(kept_bfloat16, kept<__nv_bfloat16>, __nv_bfloat16)
RUNG(cluster_float32, cluster<float>, float)
RUNG(cluster_bfloat16, cluster<__nv_bfloat16>, __nv_bfloat16)
RUNG(bulk_copies_float32, bulk_copies, float)
RUNG(longest_rows_float32, longest_rows<float>, float)
RUNG(longest_rows_bfloat16, longest_rows<__nv_bfloat16>, __nv_bfloat16)
RUNG(rms_norm_float32, rms_norm<float>, float)
RUNG(rms_norm_bfloat16, rms_norm<__nv_bfloat16>, __nv_bfloat16)
