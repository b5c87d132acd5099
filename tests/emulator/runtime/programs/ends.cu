// Kernels that would never end, each in its own way; the argument selects one.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>
#include <sys/resource.h>

__global__ void takes_a_lock_that_is_never_free(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
}

__global__ void adds_for_ever(int* sum) {
  const int i = threadIdx.x;
  while (i < 100) atomicAdd(sum, 1);
}

__global__ void polls_what_nobody_writes(volatile int* flag) {
  while (*flag == 0) {
  }
}

__global__ void half_of_the_blocks_leave(int* sum) {
  if (blockIdx.x % 2) return;
  cooperative_groups::this_grid().sync();
  atomicAdd(sum, 1);
}

__global__ void races_and_never_ends(volatile int* flag) {
  flag[1] = threadIdx.x;
  while (*flag == 0) {
  }
}

// Threads that pass barriers for ever, and store what is there already.
__global__ void repeats_its_stores(int* words) {
  __shared__ int round[1];
  do {
    round[0] = 1;
    __syncthreads();
    words[threadIdx.x % 2] = 0;
    __syncthreads();
  } while (round[0] != 0 && words[1] == 0);
}

__global__ void races_once(int* words) {
  words[0] = threadIdx.x;
}

__global__ void races_again(int* words) {
  words[1] = threadIdx.x;
}

__global__ void takes_much_local_memory(int* words) {
  volatile int local[16384];
  for (int i = 0; i < 16384; i += 64) local[i] = i;
  words[0] = local[words[1] & 1023];
}

__global__ void ends(int* sum) {
  atomicAdd(sum, 1);
}

// Lets this process have so much more memory than now.
static void allow(rlim_t more) {
  rlim_t pages = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  const rlim_t bytes = pages * 4096 + more;
  const rlimit limit{bytes, bytes};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::perror("setrlimit");
}

int main(int argc, char** argv) {
  const char* which = argc > 1 ? argv[1] : "";
  int* word = nullptr;
  cudaMalloc(&word, 2 * sizeof(int));
  cudaMemset(word, 0, 2 * sizeof(int));
  if (!std::strcmp(which, "lock")) takes_a_lock_that_is_never_free<<<2, 1>>>(word);
  if (!std::strcmp(which, "atomics")) adds_for_ever<<<1, 64>>>(word);
  if (!std::strcmp(which, "polling")) polls_what_nobody_writes<<<4, 32>>>(word);
  if (!std::strcmp(which, "race")) races_and_never_ends<<<1, 64>>>(word);
  if (!std::strcmp(which, "repeated stores")) repeats_its_stores<<<3, 64>>>(word);
  if (!std::strcmp(which, "many blocks")) ends<<<0x7fffffff, 1>>>(word);
  if (!std::strcmp(which, "grid barrier")) {
    void* arguments[] = {&word};
    cudaLaunchCooperativeKernel(reinterpret_cast<void*>(half_of_the_blocks_leave), dim3(8), dim3(32),
                                arguments);
  }
  if (!std::strcmp(which, "host loop"))
    for (;;) ends<<<1, 32>>>(word);
  if (!std::strncmp(which, "no memory", 9)) {
    races_once<<<1, 64>>>(word);
    races_again<<<1, 64>>>(word);
    allow(32 << 20);
  }
  if (!std::strcmp(which, "no memory on the host"))
    for (;;) std::memset(new char[1 << 20], 1, 1 << 20);
  if (!std::strcmp(which, "no memory for blocks")) takes_much_local_memory<<<1, 1024>>>(word);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  cudaFree(word);
}
