// Products of matrices as nvcuda::wmma computes them, in each of its shapes, types and layouts, from shared
// and from global memory; and ldmatrix, stmatrix and movmatrix around mma. All numbers are small and whole,
// so that every sum is exact.
#include "verdict.hpp"

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <string>

using namespace nvcuda;

// What is at (row, column) of the two factors and of C.
__host__ __device__ inline int in_a(unsigned row, unsigned k) {
  return static_cast<int>((row * 7 + k * 3) % 5);
}
__host__ __device__ inline int in_b(unsigned k, unsigned column) {
  return static_cast<int>((k * 5 + column * 2) % 7);
}
__host__ __device__ inline int in_c(unsigned row, unsigned column) {
  return static_cast<int>(row * 2 + column);
}
int product(unsigned row, unsigned column, unsigned depth) {
  int sum = in_c(row, column);
  for (unsigned k = 0; k < depth; ++k) sum += in_a(row, k) * in_b(k, column);
  return sum;
}

template <typename T>
constexpr unsigned
    padding = 16 / sizeof(T); // elements between the ends of rows, as programs add against conflicts

template <typename Layout>
constexpr bool by_row = std::is_same_v<Layout, wmma::row_major>;

template <typename T>
struct Precision { // of a fragment
  using type = T;
};
template <>
struct Precision<float> {
  using type = wmma::precision::tf32;
};

// C = 2 * (A * B + C) in place, where all three stand one behind the other.
template <unsigned M, unsigned N, unsigned K, typename T, typename Sum, typename LayoutA, typename LayoutB>
__device__ void multiply(T* a, T* b, Sum* c, wmma::layout_t layout) {
  wmma::fragment<wmma::matrix_a, M, N, K, typename Precision<T>::type, LayoutA> of_a;
  wmma::fragment<wmma::matrix_b, M, N, K, typename Precision<T>::type, LayoutB> of_b;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> sum;
  const unsigned stride_a = (by_row<LayoutA> ? K : M) + padding<T>,
                 stride_b = (by_row<LayoutB> ? N : K) + padding<T>,
                 stride_c = layout == wmma::mem_row_major ? N : M;
  wmma::load_matrix_sync(of_a, a, stride_a);
  wmma::load_matrix_sync(of_b, b, stride_b);
  wmma::load_matrix_sync(sum, c, stride_c, layout);
  for (int i = 0; i < of_a.num_elements; ++i) of_a.x[i] = of_a.x[i] + of_a.x[i]; // element by element
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] + sum.x[i];
  wmma::mma_sync(sum, of_a, of_b, sum);
  wmma::store_matrix_sync(c, sum, stride_c, layout);
}

template <unsigned M, unsigned N, unsigned K, typename T, typename Sum, typename LayoutA, typename LayoutB,
          bool InShared>
__global__ void product_of(unsigned char* memory, wmma::layout_t layout, int* result) {
  constexpr unsigned size_a = (by_row<LayoutA> ? M * (K + padding<T>) : K * (M + padding<T>)) * sizeof(T),
                     size_b = (by_row<LayoutB> ? K * (N + padding<T>) : N * (K + padding<T>)) * sizeof(T),
                     begin_b = (size_a + 31) / 32 * 32, begin_c = (begin_b + size_b + 31) / 32 * 32;
  __shared__ alignas(32) unsigned char shared[begin_c + M * N * sizeof(Sum)];
  unsigned char* const at = InShared ? shared : memory;
  T *a = reinterpret_cast<T*>(at), *b = reinterpret_cast<T*>(at + begin_b);
  Sum* c = reinterpret_cast<Sum*>(at + begin_c);
  for (unsigned i = threadIdx.x; i < M * K; i += 32) {
    const unsigned row = i / K, k = i % K;
    a[by_row<LayoutA> ? row * (K + padding<T>)+k : k * (M + padding<T>)+row] = T(in_a(row, k));
  }
  for (unsigned i = threadIdx.x; i < K * N; i += 32) {
    const unsigned k = i / N, column = i % N;
    b[by_row<LayoutB> ? k * (N + padding<T>)+column : column * (K + padding<T>)+k] = T(in_b(k, column));
  }
  const auto place = [=](unsigned row, unsigned column) {
    return layout == wmma::mem_row_major ? row * N + column : column * M + row;
  };
  for (unsigned i = threadIdx.x; i < M * N; i += 32) c[place(i / N, i % N)] = Sum(in_c(i / N, i % N));
  __syncthreads();
  multiply<M, N, K, T, Sum, LayoutA, LayoutB>(a, b, c, layout);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < M * N; i += 32)
    result[i] = static_cast<int>(static_cast<float>(c[place(i / N, i % N)]));
}

template <unsigned M, unsigned N, unsigned K, typename T, typename Sum, typename LayoutA, typename LayoutB>
void try_layouts(const std::string& name) {
  unsigned char* memory = nullptr;
  cudaMalloc(&memory, 1 << 14);
  const std::string layouts =
      std::string(by_row<LayoutA> ? " row" : " col") + (by_row<LayoutB> ? " row" : " col");
  for (const bool in_shared : {false, true})
    for (const bool rows : {false, true}) {
      const auto layout = rows ? wmma::mem_row_major : wmma::mem_col_major;
      check((name + layouts + (rows ? " row" : " col") + (in_shared ? ", shared" : ", global")).c_str(),
            M * N,
            [&](int* m) {
              if (in_shared)
                product_of<M, N, K, T, Sum, LayoutA, LayoutB, true><<<1, 32>>>(memory, layout, m);
              else
                product_of<M, N, K, T, Sum, LayoutA, LayoutB, false><<<1, 32>>>(memory, layout, m);
            },
            [](unsigned i) { return 2 * product(i / N, i % N, K); });
    }
  cudaFree(memory);
}

template <unsigned M, unsigned N, unsigned K, typename T, typename Sum>
void try_type(const std::string& name) {
  try_layouts<M, N, K, T, Sum, wmma::row_major, wmma::col_major>(name);
  try_layouts<M, N, K, T, Sum, wmma::col_major, wmma::row_major>(name);
}
template <typename T, typename Sum>
void try_shapes(const std::string& name) {
  try_type<16, 16, 16, T, Sum>(name + " 16x16x16");
  try_type<32, 8, 16, T, Sum>(name + " 32x8x16");
  try_type<8, 32, 16, T, Sum>(name + " 8x32x16");
}

// One tile of 16 x 8 with ldmatrix, mma and stmatrix. A is stored by rows, B by rows, too: its tiles are
// transposed on the way, as attention does with its values.
__global__ void with_ldmatrix(int* result) {
  __shared__ alignas(16) __half a[16][24], b[16][8], out[16][8];
  const unsigned lane = threadIdx.x;
  for (unsigned i = lane; i < 256; i += 32) a[i / 16][i % 16] = __half(in_a(i / 16, i % 16));
  for (unsigned i = lane; i < 128; i += 32) b[i / 8][i % 8] = __half(in_b(i / 8, i % 8));
  __syncwarp();
  std::uint32_t of_a[4], of_b[2], sum[2] = {};
  const auto at = [](const void* place) { return static_cast<unsigned>(__cvta_generic_to_shared(place)); };
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(of_a[0]), "=r"(of_a[1]), "=r"(of_a[2]), "=r"(of_a[3])
               : "r"(at(&a[lane % 16][lane / 16 * 8]))
               : "memory");
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(of_b[0]), "=r"(of_b[1])
               : "r"(at(&b[lane % 16][0])) // those of the upper lanes are not used
               : "memory");
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};"
      : "=r"(sum[0]), "=r"(sum[1])
      : "r"(of_a[0]), "r"(of_a[1]), "r"(of_a[2]), "r"(of_a[3]), "r"(of_b[0]), "r"(of_b[1]), "r"(0), "r"(0));
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(at(&out[lane % 16][0])),
               "r"(sum[0]), "r"(sum[1])
               : "memory");
  __syncwarp();
  for (unsigned i = lane; i < 128; i += 32) result[i] = static_cast<int>(__half2float(out[i / 8][i % 8]));
}

// A tile, the same transposed in registers, and by each of the two that transpose on the way to memory or
// from it.
__global__ void transposed(int* result) {
  __shared__ alignas(16) std::uint16_t tile[4][8][8];
  const unsigned lane = threadIdx.x;
  for (unsigned i = lane; i < 64; i += 32) tile[0][i / 8][i % 8] = static_cast<std::uint16_t>(i);
  __syncwarp();
  const auto row = [&](unsigned which) {
    return static_cast<unsigned>(__cvta_generic_to_shared(&tile[which][lane % 8][0]));
  };
  std::uint32_t plain = 0, turned = 0, moved = 0;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(plain) : "r"(row(0)) : "memory");
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(turned)
               : "r"(row(0))
               : "memory");
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(moved) : "r"(plain));
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(row(1)), "r"(turned) : "memory");
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(row(2)), "r"(moved) : "memory");
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(row(3)), "r"(plain)
               : "memory");
  __syncwarp();
  for (unsigned i = lane; i < 192; i += 32) result[i] = tile[1 + i / 64][i / 8 % 8][i % 8];
}

int main() {
  try_shapes<__half, float>("half, float");
  try_shapes<__half, __half>("half, half");
  try_shapes<__nv_bfloat16, float>("bfloat16, float");
  try_shapes<signed char, int>("signed char, int");
  try_shapes<unsigned char, int>("unsigned char, int");
  try_type<16, 16, 8, float, float>("tf32, float 16x16x8");
  try_type<8, 8, 4, double, double>("double, double 8x8x4");
  check(
      "ldmatrix, mma, stmatrix", 128, [](int* m) { with_ldmatrix<<<1, 32>>>(m); },
      [](unsigned i) { return product(i / 8, i % 8, 16) - in_c(i / 8, i % 8); });
  check(
      "transposed", 192, [](int* m) { transposed<<<1, 32>>>(m); },
      [](unsigned i) { return static_cast<int>(i % 8 * 8 + i / 8 % 8); });
}
