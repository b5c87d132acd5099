// Several readers of a word, several writers, neighbours that write the same value: which pair is reported
// must not depend on which thread comes first or on how many there are.
#include "litmus.cuh"

// LITMUS reader_writes_its_own: race-global
__global__ void reader_writes_its_own(int* m) {
  const int i = threadIdx.x;
  const int next = m[i + 1]; // HERE
  m[i] += next;              // HERE
}
RUN(reader_writes_its_own, 1, 64)

// LITMUS reader_writes_its_own_in_a_warp: race-global
__global__ void reader_writes_its_own_in_a_warp(int* m) {
  const int i = threadIdx.x;
  const int next = m[i + 1]; // HERE
  m[i] += next;              // HERE
}
RUN(reader_writes_its_own_in_a_warp, 1, 32)

// LITMUS reader_writes_its_own_right: right
__global__ void reader_writes_its_own_right(int* m) {
  const int i = threadIdx.x;
  const int next = m[i + 1];
  __syncthreads();
  m[i] += next;
}
RUN(reader_writes_its_own_right, 1, 64)

// LITMUS two_warps_cross: race-global
__global__ void two_warps_cross(int* m) {
  const int t = threadIdx.x;
  if (t == 0) m[0] += m[64]; // HERE
  if (t == 32) m[64] += 1;   // HERE
}
RUN(two_warps_cross, 1, 64)

// LITMUS many_readers_one_writer: race-global
__global__ void many_readers_one_writer(int* m) {
  if (blockIdx.x == 3)
    m[0] = 1; // HERE
  else
    m[64 + blockIdx.x] = m[0]; // HERE
}
RUN(many_readers_one_writer, 8, 1)

// LITMUS many_warps_read_one_writes: race-global
__global__ void many_warps_read_one_writes(int* m) {
  m[64 + threadIdx.x] = m[0];      // HERE
  if (threadIdx.x == 70) m[0] = 1; // HERE
}
RUN(many_warps_read_one_writes, 1, 128)

// LITMUS many_warps_read_shared: race-shared
__global__ void many_warps_read_shared(int* m) {
  __shared__ int value;
  if (threadIdx.x == 0) value = 1;
  __syncthreads();
  m[64 + threadIdx.x] = value;      // HERE
  if (threadIdx.x == 70) value = 2; // HERE
}
RUN(many_warps_read_shared, 1, 128)

// LITMUS rows_read_by_many_blocks: race-global
__global__ void rows_read_by_many_blocks(int* m) {
  m[1024 + blockIdx.x * 64 + threadIdx.x] = m[threadIdx.x]; // HERE
  if (blockIdx.x == 2) m[threadIdx.x] = 5;                  // HERE
}
RUN(rows_read_by_many_blocks, 6, 64)

// LITMUS rows_read_by_the_writer_first: race-global
__global__ void rows_read_by_the_writer_first(int* m) {
  m[1024 + blockIdx.x * 64 + threadIdx.x] = m[threadIdx.x]; // HERE
  __syncthreads();
  if (blockIdx.x == 0) m[threadIdx.x] += 5; // HERE
}
RUN(rows_read_by_the_writer_first, 2, 64)

// LITMUS rows_of_ones_own: right
__global__ void rows_of_ones_own(int* m) {
  int* mine = m + blockIdx.x * 64;
  const int other = mine[63 - threadIdx.x];
  __syncthreads();
  mine[threadIdx.x] += other;
}
RUN(rows_of_ones_own, 6, 64)

// LITMUS read_again_after_barrier: race-global
__global__ void read_again_after_barrier(int* m) {
  int sum = m[threadIdx.x];
  __syncthreads();
  sum += m[threadIdx.x];            // HERE
  m[(threadIdx.x + 32) % 64] = sum; // HERE
}
RUN(read_again_after_barrier, 1, 64)

// LITMUS row_read_then_shifted_write: race-global
__global__ void row_read_then_shifted_write(int* m) {
  const int value = m[threadIdx.x];      // HERE
  m[(threadIdx.x + 1) % 32] = value + 1; // HERE
}
RUN(row_read_then_shifted_write, 1, 32)

// LITMUS row_read_then_shifted_write_right: right
__global__ void row_read_then_shifted_write_right(int* m) {
  const int value = m[threadIdx.x];
  __syncwarp();
  m[(threadIdx.x + 1) % 32] = value + 1;
}
RUN(row_read_then_shifted_write_right, 1, 32)

// LITMUS three_readers_one_unordered: race-global|fence
__global__ void three_readers_one_unordered(int* m) { // the writer has waited for two of three readers
  if (blockIdx.x < 3) {
    m[128 + blockIdx.x] = m[64]; // HERE
    __threadfence();
    atomicExch(m + blockIdx.x, 1);
  } else {
    while (look(m) == 0) {
    }
    while (look(m + 1) == 0) {
    }
    __threadfence();
    m[64] = 1; // HERE
  }
}
RUN(three_readers_one_unordered, 4, 1)

// LITMUS three_readers_all_ordered: right
__global__ void three_readers_all_ordered(int* m) {
  if (blockIdx.x < 3) {
    m[128 + blockIdx.x] = m[64];
    __threadfence();
    atomicExch(m + blockIdx.x, 1);
  } else {
    for (int i = 0; i < 3; ++i)
      while (look(m + i) == 0) {
      }
    __threadfence();
    m[64] = 1;
  }
}
RUN(three_readers_all_ordered, 4, 1)

// LITMUS three_warps_one_unordered: race-shared
__global__ void three_warps_one_unordered(int* m) {
  __shared__ int value, done[3];
  const int warp = threadIdx.x / 32;
  if (threadIdx.x == 0) value = 1;
  if (threadIdx.x < 3) done[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x % 32) return;
  if (warp < 3) {
    m[warp] = value; // HERE
    __threadfence_block();
    atomicExch(done + warp, 1);
  } else {
    while (look(done) == 0) {
    }
    while (look(done + 1) == 0) {
    }
    __threadfence_block();
    value = 2; // HERE
  }
}
RUN(three_warps_one_unordered, 1, 128)

// LITMUS three_warps_all_ordered: right
__global__ void three_warps_all_ordered(int* m) {
  __shared__ int value, done[3];
  const int warp = threadIdx.x / 32;
  if (threadIdx.x == 0) value = 1;
  if (threadIdx.x < 3) done[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x % 32) return;
  if (warp < 3) {
    m[warp] = value;
    __threadfence_block();
    atomicExch(done + warp, 1);
  } else {
    for (int i = 0; i < 3; ++i)
      while (look(done + i) == 0) {
      }
    __threadfence_block();
    value = 2;
  }
}
RUN(three_warps_all_ordered, 1, 128)

// LITMUS broadcast_then_written: race-global
__global__ void broadcast_then_written(int* m) {
  m[64 + threadIdx.x] = m[0];     // HERE
  if (threadIdx.x == 0) m[0] = 1; // HERE
}
RUN(broadcast_then_written, 1, 32)

// LITMUS atomics_then_plain_read: race-global
__global__ void atomics_then_plain_read(int* m) {
  atomicAdd(m, 1);                    // HERE
  if (threadIdx.x == 0) m[64] = m[0]; // HERE
}
RUN(atomics_then_plain_read, 1, 64)

// LITMUS atomics_barrier_plain_read: right
__global__ void atomics_barrier_plain_read(int* m) {
  atomicAdd(m, 1);
  __syncthreads();
  if (threadIdx.x == 0) m[64] = m[0];
}
RUN(atomics_barrier_plain_read, 1, 64)

// LITMUS neighbours_write_equal: equal-writes
__global__ void neighbours_write_equal(int* m) {
  int* out = m + 1024;
  out[threadIdx.x] = m[threadIdx.x];     // HERE
  out[threadIdx.x + 1] = m[threadIdx.x]; // HERE
}
RUN(neighbours_write_equal, 1, 64)

// LITMUS neighbours_write_different: race-global
__global__ void neighbours_write_different(int* m) {
  int* out = m + 1024;
  out[threadIdx.x] = threadIdx.x;     // HERE
  out[threadIdx.x + 1] = threadIdx.x; // HERE
}
RUN(neighbours_write_different, 1, 64)

// LITMUS all_set_a_flag: right
__global__ void all_set_a_flag(int* m) {
  m[0] = 1;
}
RUN(all_set_a_flag, 4, 64)

// LITMUS bytes_of_a_word: right
__global__ void bytes_of_a_word(int* m) {
  reinterpret_cast<unsigned char*>(m)[threadIdx.x] = threadIdx.x;
}
RUN(bytes_of_a_word, 1, 64)

// LITMUS bytes_of_a_word_of_blocks: right
__global__ void bytes_of_a_word_of_blocks(int* m) {
  if (threadIdx.x == 0) reinterpret_cast<unsigned char*>(m)[blockIdx.x] = blockIdx.x;
}
RUN(bytes_of_a_word_of_blocks, 8, 32)

// LITMUS same_byte_of_blocks: race-global
__global__ void same_byte_of_blocks(int* m) {
  reinterpret_cast<unsigned char*>(m)[blockIdx.x / 2] = blockIdx.x; // HERE
}
RUN(same_byte_of_blocks, 8, 1)

// LITMUS shared_tree: right
__global__ void shared_tree(int* m) {
  __shared__ int partial[128];
  partial[threadIdx.x] = m[threadIdx.x];
  __syncthreads();
  for (int stride = 64; stride; stride /= 2) {
    if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride];
    __syncthreads();
  }
  m[1024 + threadIdx.x] = partial[0];
}
RUN(shared_tree, 2, 128)

// LITMUS shared_tree_no_barrier: race-shared
__global__ void shared_tree_no_barrier(int* m) {
  __shared__ int partial[128];
  partial[threadIdx.x] = m[threadIdx.x];
  __syncthreads();
  for (int stride = 64; stride; stride /= 2)
    if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride] + threadIdx.x; // HERE
  if (threadIdx.x == 0) m[1024] = partial[0];
}
RUN(shared_tree_no_barrier, 1, 128)

// LITMUS lanes_pass_on: right
__global__ void lanes_pass_on(int* m) {
  m[threadIdx.x] = threadIdx.x;
  __syncwarp();
  m[64 + threadIdx.x] = m[31 - threadIdx.x];
}
RUN(lanes_pass_on, 1, 32)

// LITMUS lanes_pass_on_unsynchronised: race-global
__global__ void lanes_pass_on_unsynchronised(int* m) {
  m[threadIdx.x] = threadIdx.x;              // HERE
  m[64 + threadIdx.x] = m[31 - threadIdx.x]; // HERE
}
RUN(lanes_pass_on_unsynchronised, 1, 32)

// LITMUS read_only_path_behind_a_barrier: race-global
// SAYS while this read takes the read-only path
__global__ void read_only_path_behind_a_barrier(int* m) {
  m[threadIdx.x] = 1; // HERE
  __syncthreads();
  m[128 + threadIdx.x] = __ldg(&m[threadIdx.x ^ 1]); // HERE
}
RUN(read_only_path_behind_a_barrier, 1, 64)

// LITMUS read_only_path_to_its_own: race-global
// SAYS while this read takes the read-only path
__global__ void read_only_path_to_its_own(int* m) {
  m[threadIdx.x] = 1;                            // HERE
  m[128 + threadIdx.x] = __ldg(&m[threadIdx.x]); // HERE
}
RUN(read_only_path_to_its_own, 1, 64)

// What an earlier launch has written may be read so, and what this one writes only later.
// LITMUS read_only_path_of_another_launch: right
__global__ void read_only_path_of_another_launch(int* m) {
  m[128 + threadIdx.x] = __ldg(&m[threadIdx.x]);
}
__global__ void fills(int* m) {
  m[threadIdx.x] = 1;
}
static Enter enter_read_only_path_of_another_launch("read_only_path_of_another_launch", [](int* m) {
  fills<<<1, 64>>>(m);
  read_only_path_of_another_launch<<<1, 64>>>(m);
});

int main() {
  return run_all();
}
