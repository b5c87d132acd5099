// Mistakes with bulk copies, mbarriers and matrices that stop a kernel, each beside the same done right;
// test_bulk_mistakes.py says what must be reported about each.
#include <cstdio>
#include <cstring>

#include <cuda/ptx>
#include <cuda_runtime.h>
#include <mma.h>

namespace ptx = cuda::ptx;

__device__ void expect(std::uint64_t* barrier, unsigned bytes) { // the next line expects
  ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, barrier, bytes);
}
__device__ void copy(char* to, const char* from, unsigned bytes, std::uint64_t* barrier) {
  ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, to, from, bytes, barrier); // load
}

// Copies `bytes` from `from` and expects `expected`; the wait is for `parity`.
__global__ void load(const char* from, unsigned bytes, unsigned expected, unsigned parity, char* to) {
  __shared__ alignas(16) char values[256];
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) ptx::mbarrier_init(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&full, expected);
    copy(values, from, bytes, &full);
  }
  __syncthreads();
  while (!ptx::mbarrier_try_wait_parity(&full, parity)) {
  }
  if (threadIdx.x < bytes) to[threadIdx.x] = values[threadIdx.x];
}

__global__ void store(char* to, unsigned bytes, unsigned offset) {
  __shared__ alignas(16) char values[256];
  values[threadIdx.x] = static_cast<char>(threadIdx.x);
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, to, values + offset, bytes); // store
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

__global__ void arrive(bool begins, char* to) {
  __shared__ std::uint64_t barrier;
  if (threadIdx.x == 0 && begins) ptx::mbarrier_init(&barrier, 32);
  __syncthreads();
  ptx::mbarrier_arrive(&barrier); // arrive
  to[threadIdx.x] = 1;
}

__global__ void all_arrive(char* to) {
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) ptx::mbarrier_init(&full, 1);
  __syncthreads();
  std::uint64_t* const barrier = &full;
  ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, barrier, 16); // all
  to[threadIdx.x] = 1;
}

__global__ void within_block(char* to) {
  __shared__ alignas(16) char values[2][32];
  __shared__ std::uint64_t full;
  values[0][threadIdx.x] = 1;
  if (threadIdx.x == 0) ptx::mbarrier_init(&full, 1);
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&full, sizeof values[0]);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, values[1], values[0], 32, &full); // within
  }
  while (!ptx::mbarrier_try_wait_parity(&full, 0)) {
  }
  to[threadIdx.x] = values[1][threadIdx.x];
}

void launch_within_block(char* to, bool in_cluster) {
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {1, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = 1, config.blockDim = 32;
  config.attrs = &cluster, config.numAttrs = in_cluster;
  cudaLaunchKernelEx(&config, within_block, to);
}

using namespace nvcuda;
__global__ void multiply(float* sums, unsigned lanes, bool leaves) {
  if (leaves && threadIdx.x >= lanes) asm volatile("exit;");
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 1.0f);
  if (threadIdx.x < lanes) wmma::store_matrix_sync(sums, sum, 16, wmma::mem_row_major); // multiply
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
  char *a = nullptr, *b = nullptr;
  if (cudaMalloc(&a, 4096) || cudaMalloc(&b, 4096)) return 1;
  cudaMemset(a, 0, 4096);
  if (is("right")) {
    load<<<1, 32>>>(a, 112, 112, 0, b);
    store<<<1, 256>>>(b, 240, 16);
    arrive<<<1, 32>>>(true, b);
    launch_within_block(b, true);
    multiply<<<1, 32>>>(reinterpret_cast<float*>(b), 32, false);
  }
  if (is("odd_bytes")) load<<<1, 32>>>(a, 100, 100, 0, b);
  if (is("odd_address")) load<<<1, 32>>>(a + 4, 112, 112, 0, b);
  if (is("odd_offset")) store<<<1, 256>>>(b, 112, 8);
  if (is("odd_target")) store<<<1, 256>>>(b + 8, 112, 0);
  if (is("beyond_shared")) load<<<1, 32>>>(a, 512, 512, 0, b);
  if (is("beyond_array")) store<<<1, 256>>>(b + 4096 - 64, 128, 0);
  if (is("missing_bytes")) load<<<1, 32>>>(a, 112, 128, 0, b);
  if (is("wrong_parity")) load<<<1, 32>>>(a, 112, 112, 1, b);
  if (is("not_begun")) arrive<<<1, 32>>>(false, b);
  if (is("all_arrive")) all_arrive<<<1, 32>>>(b);
  if (is("no_cluster")) launch_within_block(b, false);
  if (is("branch")) multiply<<<1, 32>>>(reinterpret_cast<float*>(b), 16, false);
  if (is("gone")) multiply<<<1, 32>>>(reinterpret_cast<float*>(b), 16, true);
  if (is("small_block")) multiply<<<1, 24>>>(reinterpret_cast<float*>(b), 32, false);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  cudaFree(a), cudaFree(b);
}
