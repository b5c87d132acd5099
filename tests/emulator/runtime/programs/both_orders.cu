// Launches that leave something behind, which a second run in the other order must not do twice.
#include <cstdio>
#include <cstring>

__device__ int calls;

__global__ void counts(int* sum) {
  atomicAdd(sum, 1);
  if (blockIdx.x == 0 && threadIdx.x == 0) ++calls;
}

__global__ void prints(int* sum) {
  if (threadIdx.x == 0) std::printf("block %d\n", *sum);
}

__global__ void frees(int* sum) {
  void* const memory = malloc(16);
  *sum = memory != nullptr;
  free(memory);
}

// Each block waits for the one before it, which a GPU has started earlier.
__global__ void chain(int* sum) {
  if (blockIdx.x > 0)
    while (atomicAdd(sum, 0) < int(blockIdx.x)) {
    }
  __threadfence();
  atomicExch(sum, int(blockIdx.x) + 1);
}

// Races only if the second block comes first.
__global__ void reads_without_waiting(int* word) {
  if (blockIdx.x == 0) {
    word[1] = 1;
    __threadfence();
    atomicExch(word, 1);
  } else {
    word[2] = atomicAdd(word, 0);
    __threadfence();
    word[3] = word[1];
  }
}

int main(int argc, char** argv) {
  const char* which = argc > 1 ? argv[1] : "";
  int *words = nullptr, result = 0, seen = 0;
  const bool pinned = !std::strcmp(which, "pinned");
  const bool failed = pinned ? cudaMallocHost(&words, 4 * sizeof(int)) : cudaMalloc(&words, 4 * sizeof(int));
  if (failed) return 1;
  cudaMemset(words, 0, 4 * sizeof(int));
  if (!std::strcmp(which, "counts") || pinned)
    for (int i = 0; i < 20; ++i) counts<<<2, 32>>>(words);
  if (!std::strcmp(which, "prints")) prints<<<1, 32>>>(words);
  if (!std::strcmp(which, "frees")) frees<<<1, 1>>>(words);
  if (!std::strcmp(which, "chain"))
    chain<<<150, 1>>>(words); // ends long before the time limit of a second order
  if (!std::strcmp(which, "reads")) reads_without_waiting<<<2, 1>>>(words);
  cudaMemcpy(&result, words, sizeof result, cudaMemcpyDefault);
  cudaMemcpyFromSymbol(&seen, calls, sizeof seen);
  std::printf("%d %d %s\n", result, seen, cudaGetErrorName(cudaDeviceSynchronize()));
  pinned ? cudaFreeHost(words) : cudaFree(words);
}
