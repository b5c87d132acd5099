// Release and acquire patterns, each kept and broken: a thread passes data to another with a flag, or threads
// update them in turn under a lock. A program is a row of steps, on plain and on volatile data. A mark's "at"
// says which steps must be named, by the comments AT. The sets of scopes, fences and locks follow those of a
// published suite of micro-benchmarks (Kamath, George, Basu: "ScoRD: A Scoped Race Detector for GPUs", ISCA
// 2020), but the programs are not taken from it.
#include "litmus.cuh"

constexpr auto of_block = cuda::thread_scope_block, of_device = cuda::thread_scope_device,
               of_system = cuda::thread_scope_system;
constexpr auto relaxed = cuda::memory_order_relaxed, acquire = cuda::memory_order_acquire,
               release = cuda::memory_order_release;

// ---- steps: what a thread does with the data, and with the flag or lock

struct Write {
  template <class Data>
  static __device__ void run(Data* data, int*) {
    *data = 42; // AT data
  }
};
struct Read {
  template <class Data>
  static __device__ void run(Data* data, int*) {
    data[64] = *data; // AT data
  }
};
struct Update {
  template <class Data>
  static __device__ void run(Data* data, int*) {
    *data = *data + 1; // AT data
  }
};

template <cuda::thread_scope Scope>
struct Fence {
  static __device__ void run(volatile void*, int*) {
    if (Scope == of_block) __threadfence_block();
    if (Scope == of_device) __threadfence();
    if (Scope == of_system) __threadfence_system();
  }
};

template <int Value, cuda::thread_scope Scope>
struct Exchange {
  static __device__ void run(volatile void*, int* flag) {
    if (Scope == of_block) atomicExch_block(flag, Value);   // AT flag
    if (Scope == of_device) atomicExch(flag, Value);        // AT flag
    if (Scope == of_system) atomicExch_system(flag, Value); // AT flag
  }
};
template <int Value>
struct StorePlain {
  static __device__ void run(volatile void*, int* flag) {
    *flag = Value; // AT flag
  }
};
template <int Value>
struct StoreVolatile {
  static __device__ void run(volatile void*, int* flag) {
    *static_cast<volatile int*>(flag) = Value; // AT flag
  }
};
template <int Value, cuda::thread_scope Scope, cuda::memory_order Order>
struct Store {
  static __device__ void run(volatile void*, int* flag) {
    ref<Scope>(flag).store(Value, Order); // AT flag
  }
};

template <cuda::thread_scope Scope>
struct Poll { // by atomics that change nothing
  static __device__ bool is_raised(int* flag) {
    if (Scope == of_block) return atomicAdd_block(flag, 0); // AT flag
    if (Scope == of_device) return atomicAdd(flag, 0);      // AT flag
    return atomicAdd_system(flag, 0);                       // AT flag
  }
  static __device__ void run(volatile void*, int* flag) {
    while (!is_raised(flag)) {
    }
  }
};
struct Look {
  static __device__ void run(volatile void*, int* flag) {
    while (look(flag) == 0) { // AT flag
    }
  }
};
struct LookAndFence {
  static __device__ void run(volatile void*, int* flag) {
    do __threadfence();
    while (look(flag) == 0);
    __threadfence();
  }
};
template <cuda::thread_scope Scope, cuda::memory_order Order>
struct Load {
  static __device__ void run(volatile void*, int* flag) {
    while (ref<Scope>(flag).load(Order) == 0) { // AT flag
    }
  }
};

template <cuda::thread_scope Scope>
struct Take {
  static __device__ bool is_taken(int* lock) {
    if (Scope == of_block) return atomicCAS_block(lock, 0, 1); // AT flag
    if (Scope == of_device) return atomicCAS(lock, 0, 1);      // AT flag
    return atomicCAS_system(lock, 0, 1);                       // AT flag
  }
  static __device__ void run(volatile void*, int* lock) {
    while (is_taken(lock)) {
    }
  }
};
template <cuda::memory_order Order>
struct TakeBy {
  static __device__ void run(volatile void*, int* lock) {
    while (ref(lock).exchange(1, Order)) {
    }
  }
};

template <class... Steps>
struct InTurn {
  template <class Data>
  static __device__ void run(int* m) {
    (Steps::run(static_cast<Data*>(m + 64), m), ...);
  }
};

// The first thread of all takes some steps, the last one the others.
template <class Data, class Writer, class Reader>
__global__ void message(int* m) {
  if (blockIdx.x == 0 && threadIdx.x == 0)
    Writer::template run<Data>(m);
  else if (blockIdx.x == gridDim.x - 1 && threadIdx.x == blockDim.x - 1)
    Reader::template run<Data>(m);
}
// The first lane of each warp takes all steps.
template <class Data, class Steps>
__global__ void in_turn(int* m) {
  if (threadIdx.x % 32 == 0) Steps::template run<Data>(m);
}

#define STEPS(...) InTurn<__VA_ARGS__>
#define RUN_BOTH(name, blocks, threads, kernel, ...)                                                         \
  static Enter enter_plain_##name(#name "_plain",                                                            \
                                  [](int* m) { kernel<int, __VA_ARGS__><<<blocks, threads>>>(m); });         \
  static Enter enter_volatile_##name(                                                                        \
      #name "_volatile", [](int* m) { kernel<volatile int, __VA_ARGS__><<<blocks, threads>>>(m); });
// Between blocks, and between warps of a block.
#define FAR_MESSAGE(name, writer, reader) RUN_BOTH(far_##name, 2, 32, message, STEPS writer, STEPS reader)
#define NEAR_MESSAGE(name, writer, reader) RUN_BOTH(near_##name, 1, 64, message, STEPS writer, STEPS reader)
#define FAR_LOCK(name, steps) RUN_BOTH(far_##name, 4, 32, in_turn, STEPS steps)
#define NEAR_LOCK(name, steps) RUN_BOTH(near_##name, 1, 128, in_turn, STEPS steps)

using BlockFence = Fence<of_block>;
using DeviceFence = Fence<of_device>;
using SystemFence = Fence<of_system>;
using Raise = Exchange<1, of_device>;
using Wait = Poll<of_device>;
using Lock = Take<of_device>;
using Unlock = Exchange<0, of_device>;

// ---- messages between blocks

// LITMUS_BOTH far_fences: right
FAR_MESSAGE(fences, (Write, DeviceFence, Raise), (Wait, DeviceFence, Read))

// LITMUS_BOTH far_fences_of_system: right
FAR_MESSAGE(fences_of_system, (Write, SystemFence, Raise), (Wait, SystemFence, Read))

// LITMUS_BOTH far_flag_of_system: right
FAR_MESSAGE(flag_of_system, (Write, SystemFence, Exchange<1, of_system>),
            (Poll<of_system>, SystemFence, Read))

// LITMUS_BOTH far_no_fence: fence at data
FAR_MESSAGE(no_fence, (Write, Raise), (Wait, DeviceFence, Read))

// LITMUS_BOTH far_fence_of_block: fence at data
FAR_MESSAGE(fence_of_block, (Write, BlockFence, Raise), (Wait, DeviceFence, Read))

// LITMUS_BOTH far_fence_after_flag: fence at data
FAR_MESSAGE(fence_after_flag, (Write, Raise, DeviceFence), (Wait, DeviceFence, Read))

// LITMUS_BOTH far_fence_before_data: fence at data
FAR_MESSAGE(fence_before_data, (DeviceFence, Write, Raise), (Wait, DeviceFence, Read))

// LITMUS_BOTH far_data_after_flag: race-global at data
FAR_MESSAGE(data_after_flag, (DeviceFence, Raise, Write), (Wait, DeviceFence, Read))

// LITMUS_BOTH far_no_wait: race-global at data
FAR_MESSAGE(no_wait, (Write, DeviceFence, Raise), (DeviceFence, Read))

// LITMUS_BOTH far_no_fence_after_wait: fence at data
// SAYS with no fence after the wait
FAR_MESSAGE(no_fence_after_wait, (Write, DeviceFence, Raise), (Wait, Read))

// LITMUS_BOTH far_no_fence_after_look: fence at data
// SAYS with no fence after the wait
FAR_MESSAGE(no_fence_after_look, (Write, DeviceFence, Raise), (Look, Read))

// LITMUS_BOTH far_fence_before_look: fence at data
// SAYS with no fence after the wait
FAR_MESSAGE(fence_before_look, (Write, DeviceFence, Raise), (DeviceFence, Look, Read))

// LITMUS_BOTH far_fence_of_block_after_look: fence at data
// SAYS the fence after the wait is too narrow
FAR_MESSAGE(fence_of_block_after_look, (Write, DeviceFence, Raise), (Look, BlockFence, Read))

// LITMUS_BOTH far_fences_within_the_loop: right
FAR_MESSAGE(fences_within_the_loop, (Write, DeviceFence, Raise), (LookAndFence, Read))

// LITMUS_BOTH far_plain_flag: race-global at flag
FAR_MESSAGE(plain_flag, (Write, DeviceFence, StorePlain<1>), (Look, DeviceFence, Read))

// LITMUS_BOTH far_volatile_flag: right
FAR_MESSAGE(volatile_flag, (Write, DeviceFence, StoreVolatile<1>), (Look, DeviceFence, Read))

// LITMUS_BOTH far_volatile_flag_no_fence: fence at data
FAR_MESSAGE(volatile_flag_no_fence, (Write, StoreVolatile<1>), (Look, DeviceFence, Read))

// LITMUS_BOTH far_volatile_flag_no_fences: fence at data
FAR_MESSAGE(volatile_flag_no_fences, (Write, StoreVolatile<1>), (Look, Read))

// LITMUS_BOTH far_flag_raised_for_block: race-global|fence at flag
FAR_MESSAGE(flag_raised_for_block, (Write, DeviceFence, Exchange<1, of_block>), (Wait, DeviceFence, Read))

// LITMUS_BOTH far_flag_watched_in_block: race-global at flag
FAR_MESSAGE(flag_watched_in_block, (Write, DeviceFence, Raise), (Poll<of_block>, DeviceFence, Read))

// LITMUS_BOTH far_release_acquire: right
FAR_MESSAGE(release_acquire, (Write, Store<1, of_device, release>), (Load<of_device, acquire>, Read))

// LITMUS_BOTH far_release_acquire_of_system: right
FAR_MESSAGE(release_acquire_of_system, (Write, Store<1, of_system, release>),
            (Load<of_system, acquire>, Read))

// LITMUS_BOTH far_relaxed_store: fence at data
FAR_MESSAGE(relaxed_store, (Write, Store<1, of_device, relaxed>), (Load<of_device, acquire>, Read))

// LITMUS_BOTH far_release_of_block: race-global|fence at flag
FAR_MESSAGE(release_of_block, (Write, Store<1, of_block, release>), (Load<of_device, acquire>, Read))

// LITMUS_BOTH far_acquire_of_block: race-global at flag
FAR_MESSAGE(acquire_of_block, (Write, Store<1, of_device, release>), (Load<of_block, acquire>, Read))

// ---- messages between warps of a block

// LITMUS_BOTH near_fences_of_block: right
NEAR_MESSAGE(fences_of_block, (Write, BlockFence, Raise), (Wait, BlockFence, Read))

// LITMUS_BOTH near_fences_of_device: right
NEAR_MESSAGE(fences_of_device, (Write, DeviceFence, Raise), (Wait, DeviceFence, Read))

// LITMUS_BOTH near_no_fence: race-global at data
NEAR_MESSAGE(no_fence, (Write, Raise), (Wait, BlockFence, Read))

// LITMUS_BOTH near_flag_of_block: right
NEAR_MESSAGE(flag_of_block, (Write, BlockFence, Exchange<1, of_block>), (Poll<of_block>, BlockFence, Read))

// LITMUS_BOTH near_release_of_block: right
NEAR_MESSAGE(release_of_block, (Write, Store<1, of_block, release>), (Load<of_block, acquire>, Read))

// ---- locks between blocks

// LITMUS_BOTH far_lock: right
FAR_LOCK(lock, (Lock, DeviceFence, Update, DeviceFence, Unlock))

// LITMUS_BOTH far_no_lock: race-global at data
FAR_LOCK(no_lock, (Update))

// LITMUS_BOTH far_lock_of_system: right
FAR_LOCK(lock_of_system, (Take<of_system>, SystemFence, Update, SystemFence, Exchange<0, of_system>))

// LITMUS_BOTH far_lock_no_fence: fence at data
FAR_LOCK(lock_no_fence, (Lock, Update, Unlock))

// LITMUS_BOTH far_lock_no_acquire_fence: fence at data
FAR_LOCK(lock_no_acquire_fence, (Lock, Update, DeviceFence, Unlock))

// LITMUS_BOTH far_lock_no_release_fence: fence at data
FAR_LOCK(lock_no_release_fence, (Lock, DeviceFence, Update, Unlock))

// LITMUS_BOTH far_lock_acquire_fence_of_block: fence at data
FAR_LOCK(lock_acquire_fence_of_block, (Lock, BlockFence, Update, DeviceFence, Unlock))

// LITMUS_BOTH far_lock_release_fence_of_block: fence at data
FAR_LOCK(lock_release_fence_of_block, (Lock, DeviceFence, Update, BlockFence, Unlock))

// LITMUS_BOTH far_lock_taken_for_block: race-global|fence at flag
FAR_LOCK(lock_taken_for_block, (Take<of_block>, DeviceFence, Update, DeviceFence, Unlock))

// LITMUS_BOTH far_lock_given_back_for_block: race-global|fence at data|flag
FAR_LOCK(lock_given_back_for_block, (Lock, DeviceFence, Update, DeviceFence, Exchange<0, of_block>))

// LITMUS_BOTH far_lock_of_block: race-global|fence at data|flag
FAR_LOCK(lock_of_block, (Take<of_block>, DeviceFence, Update, DeviceFence, Exchange<0, of_block>))

// LITMUS_BOTH far_lock_given_back_by_a_store: right
FAR_LOCK(lock_given_back_by_a_store, (Lock, DeviceFence, Update, DeviceFence, StoreVolatile<0>))

// LITMUS_BOTH far_lock_given_back_plainly: race-global at flag
FAR_LOCK(lock_given_back_plainly, (Lock, DeviceFence, Update, DeviceFence, StorePlain<0>))

// LITMUS_BOTH far_lock_acquire_release: right
FAR_LOCK(lock_acquire_release, (TakeBy<acquire>, Update, Store<0, of_device, release>))

// LITMUS_BOTH far_lock_relaxed_acquire: fence at data
FAR_LOCK(lock_relaxed_acquire, (TakeBy<relaxed>, Update, Store<0, of_device, release>))

// LITMUS_BOTH far_lock_relaxed_release: fence at data
FAR_LOCK(lock_relaxed_release, (TakeBy<acquire>, Update, Store<0, of_device, relaxed>))

// ---- locks between warps of a block

// LITMUS_BOTH near_lock_of_block: right
NEAR_LOCK(lock_of_block, (Take<of_block>, BlockFence, Update, BlockFence, Exchange<0, of_block>))

// LITMUS_BOTH near_lock_of_device: right
NEAR_LOCK(lock_of_device, (Lock, DeviceFence, Update, DeviceFence, Unlock))

// LITMUS_BOTH near_lock_no_fence: race-global at data
NEAR_LOCK(lock_no_fence, (Take<of_block>, Update, Exchange<0, of_block>))

// LITMUS_BOTH near_lock_no_acquire_fence: fence at data
NEAR_LOCK(lock_no_acquire_fence, (Lock, Update, BlockFence, Unlock))

int main() {
  return run_all();
}
