// Streams, events, copies and memory that is shared with the host: what orders them, and what does not.
#include "cases.hpp"

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <mutex>
#include <semaphore.h>
#include <thread>
#include <utility>

constexpr int n = 1000;
constexpr std::size_t bytes = n * sizeof(int);

__global__ void fill(int* out, int count, int value) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) out[i] = value;
}
__global__ void scale(int* out, const int* in, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) out[i] = 2 * in[i];
}
__global__ void tally(int* sum) {
  atomicAdd(sum, 1);
}
__managed__ int total;
__global__ void set_total(int value) {
  total = value;
}

// Two streams, some device memory, some pinned memory.
struct Things {
  cudaStream_t one, two;
  int *a, *b, *pinned;
  explicit Things(unsigned flags = cudaStreamNonBlocking) {
    OK(cudaStreamCreateWithFlags(&one, flags));
    OK(cudaStreamCreateWithFlags(&two, flags));
    OK(cudaMalloc(&a, bytes));
    OK(cudaMalloc(&b, bytes));
    OK(cudaMallocHost(&pinned, bytes));
    OK(cudaMemset(a, 0, bytes));
    OK(cudaMemset(b, 0, bytes));
    std::memset(pinned, 0, bytes);
    OK(cudaDeviceSynchronize());
  }
};

static cudaEvent_t new_event() {
  cudaEvent_t event;
  OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

// ---- copies and the host

CASE(copy_back_waited_for, "clean") {
  Things t;
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  OK(cudaStreamSynchronize(t.one));
  sink = t.pinned[3];
}
CASE(copy_back_not_waited_for, "race-host: the host reads byte 12 of pinned allocation 3 .* while "
                               "cudaMemcpyAsync in stream 3 may still write it") {
  Things t;
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one)); // there
  sink = t.pinned[3];                                                       // here
  OK(cudaStreamSynchronize(t.one));
}
CASE(copy_back_event_waited_for, "clean") {
  Things t;
  const cudaEvent_t done = new_event();
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  OK(cudaEventRecord(done, t.one));
  OK(cudaEventSynchronize(done));
  sink = t.pinned[3];
}
CASE(copy_back_event_too_early, "race-host: the host reads byte 0 of pinned") {
  Things t;
  const cudaEvent_t done = new_event();
  OK(cudaEventRecord(done, t.one));
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one)); // there
  OK(cudaEventSynchronize(done));
  sink = t.pinned[0]; // here
}
CASE(copy_back_polled, "clean") {
  Things t;
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  while (cudaStreamQuery(t.one) != cudaSuccess) {
  }
  sink = t.pinned[3];
}
CASE(copy_back_device_waited_for, "clean") {
  Things t;
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  OK(cudaDeviceSynchronize());
  sink = t.pinned[3];
}
CASE(copy_back_other_stream_waited_for, "race-host: the host reads .* in stream 3 may still write it") {
  Things t;
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one)); // there
  OK(cudaStreamSynchronize(t.two));
  sink = t.pinned[3]; // here
}
CASE(copy_back_stream_destroyed, "race-host: the host reads") {
  Things t;
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one)); // there
  OK(cudaStreamDestroy(t.one));                                             // returns at once
  sink = t.pinned[3];                                                       // here
}
CASE(copy_back_by_another_thread, "clean") {
  Things t;
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  std::thread([&] { OK(cudaStreamSynchronize(t.one)); }).join();
  sink = t.pinned[3];
}
CASE(source_written_during_copy, "race-host: the host writes byte 400 of pinned .* may still read it") {
  Things t;
  OK(cudaMemcpyAsync(t.a, t.pinned, bytes, cudaMemcpyHostToDevice, t.one)); // there
  t.pinned[100] = 7;                                                        // here
  OK(cudaStreamSynchronize(t.one));
}
CASE(source_read_during_copy, "clean") {
  Things t;
  OK(cudaMemcpyAsync(t.a, t.pinned, bytes, cudaMemcpyHostToDevice, t.one));
  sink = t.pinned[100];
  OK(cudaStreamSynchronize(t.one));
}
CASE(source_written_after_wait, "clean") {
  Things t;
  OK(cudaMemcpyAsync(t.a, t.pinned, bytes, cudaMemcpyHostToDevice, t.one));
  OK(cudaStreamSynchronize(t.one));
  t.pinned[100] = 7;
}
// Two results in one page: the one that the host has waited for may be read.
CASE(neighbour_waited_for, "clean") {
  Things t;
  OK(cudaMemcpyAsync(t.pinned, t.a, 4, cudaMemcpyDeviceToHost, t.one));
  OK(cudaMemcpyAsync(t.pinned + 1, t.b, 4, cudaMemcpyDeviceToHost, t.two));
  OK(cudaStreamSynchronize(t.one));
  sink = t.pinned[0];
  OK(cudaStreamSynchronize(t.two));
  sink = t.pinned[1];
}
CASE(neighbour_not_waited_for, "race-host: the host reads byte 4 of pinned") {
  Things t;
  OK(cudaMemcpyAsync(t.pinned, t.a, 4, cudaMemcpyDeviceToHost, t.one));
  OK(cudaMemcpyAsync(t.pinned + 1, t.b, 4, cudaMemcpyDeviceToHost, t.two)); // there
  OK(cudaStreamSynchronize(t.one));
  sink = t.pinned[0];
  sink = t.pinned[1]; // here
}
// Many results in one page, and each has a stream.
static void copy_back(Things& t, cudaStream_t (&streams)[8]) {
  for (int i = 0; i < 8; ++i) {
    OK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    OK(cudaMemcpyAsync(t.pinned + 2 * i, t.a, 4, cudaMemcpyDeviceToHost, streams[i])); // there
  }
}
CASE(eight_neighbours_waited_for, "clean") {
  Things t;
  cudaStream_t streams[8];
  copy_back(t, streams);
  for (int i = 0; i < 8; ++i) {
    OK(cudaStreamSynchronize(streams[i]));
    sink = t.pinned[2 * i];
  }
}
CASE(last_of_eight_not_waited_for, "race-host: the host reads byte 56 of pinned") {
  Things t;
  cudaStream_t streams[8];
  copy_back(t, streams);
  OK(cudaStreamSynchronize(streams[0]));
  sink = t.pinned[0];
  sink = t.pinned[14]; // here
}
CASE(two_of_eight_not_waited_for, "race-host: the host reads byte 56 of pinned") {
  Things t;
  cudaStream_t streams[8];
  copy_back(t, streams);
  sink = t.pinned[0];  // here
  sink = t.pinned[14]; // here
}
CASE(blocking_copy, "clean") {
  Things t;
  fill<<<1, 64>>>(t.a, n, 1);
  OK(cudaMemcpy(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost));
  sink = t.pinned[3];
}
CASE(rows_waited_for, "clean") {
  Things t;
  OK(cudaMemcpy2DAsync(t.pinned, 40, t.a, 80, 40, 10, cudaMemcpyDeviceToHost, t.one));
  sink = t.pinned[200]; // after the last row
  OK(cudaStreamSynchronize(t.one));
  sink = t.pinned[5];
}
CASE(pageable_memory, "pageable-copy: cudaMemcpyAsync in stream 3 copies memory from malloc") {
  Things t;
  constexpr std::size_t many = 100000;
  int* pageable = static_cast<int*>(std::malloc(many));
  int* large;
  OK(cudaMalloc(&large, many));
  OK(cudaMemset(large, 0, many));
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpyAsync(pageable, large, many, cudaMemcpyDeviceToHost, t.one)); // here
  OK(cudaStreamSynchronize(t.one));
  OK(cudaMemcpyAsync(pageable, large, many, cudaMemcpyDeviceToHost, t.one));
  OK(cudaStreamSynchronize(t.one));
  sink = pageable[0];
  std::free(pageable);
}
CASE(unwritten_memory,
     "unwritten-copy: the host copies 400 bytes from allocation 4 .*, 200 of which were never written") {
  Things t;
  int* fresh;
  OK(cudaMalloc(&fresh, bytes));
  fill<<<1, 32>>>(fresh, 50, 7);
  int read[100];
  OK(cudaMemcpy(read, fresh, sizeof read, cudaMemcpyDeviceToHost)); // here
  OK(cudaMemcpy(read, fresh, 50 * sizeof *read, cudaMemcpyDeviceToHost));
  if (read[60] != 0x7fbadbad || read[49] != 7) std::abort();
}
CASE(unwritten_memory_within_the_device, "clean") {
  Things t;
  int *fresh, *more;
  OK(cudaMalloc(&fresh, bytes));
  OK(cudaMalloc(&more, bytes));
  OK(cudaMemcpy(more, fresh, bytes, cudaMemcpyDeviceToDevice));
}
CASE(pageable_number, "clean") {
  Things t;
  int number = 5;
  OK(cudaMemcpyAsync(t.a, &number, sizeof number, cudaMemcpyHostToDevice, t.one));
  OK(cudaStreamSynchronize(t.one));
}
CASE(registered_waited_for, "clean") {
  Things t;
  int* own = static_cast<int*>(std::aligned_alloc(4096, 8192));
  OK(cudaHostRegister(own, 8192, cudaHostRegisterDefault));
  OK(cudaMemcpyAsync(own, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  OK(cudaStreamSynchronize(t.one));
  sink = own[0];
  OK(cudaHostUnregister(own));
}
CASE(registered_not_waited_for, "race-host: the host reads byte 0 of registered host memory") {
  Things t;
  int* own = static_cast<int*>(std::aligned_alloc(4096, 8192));
  OK(cudaHostRegister(own, 8192, cudaHostRegisterDefault));
  OK(cudaMemcpyAsync(own, t.a, bytes, cudaMemcpyDeviceToHost, t.one)); // there
  sink = own[0];                                                       // here
  OK(cudaHostUnregister(own));
}

// ---- streams and events

CASE(streams_ordered_by_event, "clean") {
  Things t;
  const cudaEvent_t filled = new_event();
  fill<<<1, 64, 0, t.one>>>(t.a, n, 1);
  OK(cudaEventRecord(filled, t.one));
  OK(cudaStreamWaitEvent(t.two, filled));
  scale<<<1, 64, 0, t.two>>>(t.b, t.a, n);
}
CASE(
    streams_not_ordered,
    R"(race-host: scale\(int\*, int const\*, int\) in stream 4 reads byte 0 of allocation 1 .*, which fill\(int\*, int, int\) in stream 3 writes)") {
  Things t;
  fill<<<1, 64, 0, t.one>>>(t.a, n, 1);    // there
  scale<<<1, 64, 0, t.two>>>(t.b, t.a, n); // here
}
CASE(event_recorded_too_early, "race-host: scale.* reads byte 0 .* fill.* writes") {
  Things t;
  const cudaEvent_t filled = new_event();
  OK(cudaEventRecord(filled, t.one));
  fill<<<1, 64, 0, t.one>>>(t.a, n, 1); // there
  OK(cudaStreamWaitEvent(t.two, filled));
  scale<<<1, 64, 0, t.two>>>(t.b, t.a, n); // here
}
CASE(event_recorded_in_wrong_stream, "race-host: scale.* reads byte 0 .* fill.* writes") {
  Things t;
  const cudaEvent_t filled = new_event();
  fill<<<1, 64, 0, t.one>>>(t.a, n, 1); // there
  OK(cudaEventRecord(filled, t.two));
  OK(cudaStreamWaitEvent(t.two, filled));
  scale<<<1, 64, 0, t.two>>>(t.b, t.a, n); // here
}
CASE(event_never_recorded, "race-host: cudaStreamWaitEvent waits for an event that is never recorded") {
  Things t;
  const cudaEvent_t forgotten = new_event();
  OK(cudaStreamWaitEvent(t.two, forgotten)); // here
  OK(cudaStreamSynchronize(t.two));
}
// The usual loop over two buffers: the first waits have nothing to wait for.
CASE(event_recorded_behind_first_wait, "clean") {
  Things t;
  const cudaEvent_t used[2] = {new_event(), new_event()};
  for (int i = 0; i < 6; ++i) {
    OK(cudaStreamWaitEvent(t.two, used[i % 2]));
    OK(cudaEventRecord(used[i % 2], t.one));
  }
}
CASE(host_between_streams, "clean") {
  Things t;
  fill<<<1, 64, 0, t.one>>>(t.a, n, 1);
  OK(cudaStreamSynchronize(t.one));
  scale<<<1, 64, 0, t.two>>>(t.b, t.a, n);
}
CASE(streams_both_read, "clean") {
  Things t;
  int* c;
  OK(cudaMalloc(&c, bytes));
  scale<<<1, 64, 0, t.one>>>(t.b, t.a, n);
  scale<<<1, 64, 0, t.two>>>(c, t.a, n);
}
CASE(streams_parts_of_one_array, "clean") {
  Things t;
  fill<<<1, 64, 0, t.one>>>(t.a, 333, 1);
  fill<<<1, 64, 0, t.two>>>(t.a + 333, n - 333, 2);
}
CASE(streams_parts_that_overlap,
     "race-host: fill.* in stream 4 writes byte 1328 of allocation 1 .* fill.* in stream 3 writes") {
  Things t;
  fill<<<1, 64, 0, t.one>>>(t.a, 333, 1);           // there
  fill<<<1, 64, 0, t.two>>>(t.a + 332, n - 332, 2); // here
}
CASE(streams_parts_interleaved, "clean") {
  Things t;
  int* pairs;
  OK(cudaMalloc(&pairs, 2 * 4));
  for (int i = 0; i < 10; ++i) {
    fill<<<1, 1, 0, t.one>>>(pairs, 1, 1);
    fill<<<1, 1, 0, t.two>>>(pairs + 1, 1, 1);
  }
}
CASE(streams_count_by_atomics, "clean") {
  Things t;
  tally<<<1, 64, 0, t.one>>>(t.a);
  tally<<<1, 64, 0, t.two>>>(t.a);
}
CASE(count_read_beside_atomics, "race-host: scale.* reads byte 0 .* tally.* writes") {
  Things t;
  tally<<<1, 64, 0, t.one>>>(t.a);        // there
  scale<<<1, 1, 0, t.two>>>(t.b, t.a, 1); // here
}
CASE(pipeline, "clean") {
  Things t;
  const cudaEvent_t uploaded = new_event(), used = new_event();
  for (int i = 0; i < 4; ++i) {
    OK(cudaStreamWaitEvent(t.one, used));
    OK(cudaMemcpyAsync(t.a, t.pinned, bytes, cudaMemcpyHostToDevice, t.one));
    OK(cudaEventRecord(uploaded, t.one));
    OK(cudaStreamWaitEvent(t.two, uploaded));
    scale<<<1, 64, 0, t.two>>>(t.b, t.a, n);
    OK(cudaEventRecord(used, t.two));
  }
  OK(cudaDeviceSynchronize());
}
CASE(pipeline_overtakes_itself, "race-host: cudaMemcpyAsync in stream 3 writes byte 0 of allocation 1 .*, "
                                "which scale.* in stream 4 reads") {
  Things t;
  const cudaEvent_t uploaded = new_event();
  for (int i = 0; i < 4; ++i) {
    OK(cudaMemcpyAsync(t.a, t.pinned, bytes, cudaMemcpyHostToDevice, t.one)); // here
    OK(cudaEventRecord(uploaded, t.one));
    OK(cudaStreamWaitEvent(t.two, uploaded));
    scale<<<1, 64, 0, t.two>>>(t.b, t.a, n); // there
  }
  OK(cudaDeviceSynchronize());
}

// ---- the default stream

CASE(default_stream_orders_blocking_ones, "clean") {
  Things t(cudaStreamDefault);
  fill<<<1, 64, 0, t.one>>>(t.a, n, 1);
  scale<<<1, 64>>>(t.b, t.a, n);
  fill<<<1, 64, 0, t.two>>>(t.b, n, 1);
}
CASE(blocking_streams_have_no_order, "race-host: scale.* in stream 4 reads") {
  Things t(cudaStreamDefault);
  fill<<<1, 64, 0, t.one>>>(t.a, n, 1);    // there
  scale<<<1, 64, 0, t.two>>>(t.b, t.a, n); // here
}
CASE(default_stream_and_nonblocking_one,
     "race-host: scale.* in stream 3 reads .* fill.* in the default stream writes") {
  Things t;
  fill<<<1, 64>>>(t.a, n, 1);              // there
  scale<<<1, 64, 0, t.one>>>(t.b, t.a, n); // here
}
CASE(memset_and_nonblocking_stream,
     "race-host: fill.* in stream 3 writes .* cudaMemset in the default stream writes") {
  Things t;
  OK(cudaMemset(t.a, 0, bytes));        // there
  fill<<<1, 64, 0, t.one>>>(t.a, n, 1); // here
}
CASE(upload_and_nonblocking_stream, "clean") {
  Things t;
  OK(cudaMemcpy(t.a, t.pinned, bytes, cudaMemcpyHostToDevice));
  scale<<<1, 64, 0, t.one>>>(t.b, t.a, n);
}
CASE(device_copy_and_nonblocking_stream,
     "race-host: fill.* in stream 3 writes .* cudaMemcpy in the default stream") {
  Things t;
  OK(cudaMemcpy(t.a, t.b, bytes, cudaMemcpyDeviceToDevice)); // there
  fill<<<1, 64, 0, t.one>>>(t.a, n, 1);                      // here
}
CASE(blocking_copy_and_nonblocking_stream,
     "race-host: cudaMemcpy in the default stream reads .* fill.* in stream 3 writes") {
  Things t;
  fill<<<1, 64, 0, t.one>>>(t.a, n, 1);                         // there
  OK(cudaMemcpy(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost)); // here
}
CASE(threads_default_stream_waits_for_default_one, "clean") {
  Things t;
  fill<<<1, 64>>>(t.a, n, 1);
  scale<<<1, 64, 0, cudaStreamPerThread>>>(t.b, t.a, n);
  fill<<<1, 64>>>(t.b, n, 1);
}
// No stream but the default one has been used, and no memory is shared with the host.
struct NewStream {
  cudaStream_t s;
  int *a, *b;
  explicit NewStream(unsigned flags) {
    OK(cudaStreamCreateWithFlags(&s, flags));
    OK(cudaMalloc(&a, bytes));
    OK(cudaMalloc(&b, bytes));
    fill<<<4, 256>>>(a, n, 1); // there
  }
};
CASE(first_kernel_of_a_stream,
     "race-host: scale.* in stream 3 reads .* fill.* in the default stream writes") {
  const NewStream t(cudaStreamNonBlocking);
  scale<<<4, 256, 0, t.s>>>(t.b, t.a, n); // here
}
CASE(first_memset_of_a_stream,
     "race-host: cudaMemsetAsync in stream 3 writes .* fill.* in the default stream writes") {
  const NewStream t(cudaStreamNonBlocking);
  OK(cudaMemsetAsync(t.a, 0, bytes, t.s)); // here
}
CASE(first_copy_of_a_stream, "race-host: cudaMemcpyAsync in stream 3 reads .* fill.* in the default stream") {
  const NewStream t(cudaStreamNonBlocking);
  OK(cudaMemcpyAsync(t.b, t.a, bytes, cudaMemcpyDeviceToDevice, t.s)); // here
}
CASE(first_kernel_of_a_stream_after_a_wait, "clean") {
  const NewStream t(cudaStreamNonBlocking);
  OK(cudaDeviceSynchronize());
  scale<<<4, 256, 0, t.s>>>(t.b, t.a, n);
  OK(cudaMemsetAsync(t.a, 0, bytes, t.s));
}
CASE(first_kernel_of_a_blocking_stream, "clean") {
  const NewStream t(cudaStreamDefault);
  scale<<<4, 256, 0, t.s>>>(t.b, t.a, n);
}
CASE(default_streams_of_two_threads, "race-host: fill.* in the thread's default stream writes") {
  Things t;
  fill<<<1, 64, 0, cudaStreamPerThread>>>(t.a, n, 1); // there
  std::thread([&] {
    fill<<<1, 64, 0, cudaStreamPerThread>>>(t.a, n, 2); // here
    OK(cudaGetLastError());
  }).join();
}

// ---- managed memory, and pinned memory that kernels use

static int* managed() {
  int* memory;
  OK(cudaMallocManaged(&memory, bytes));
  std::memset(memory, 0, bytes);
  return memory;
}
CASE(managed_waited_for, "clean") {
  int* m = managed();
  fill<<<1, 64>>>(m, n, 1);
  OK(cudaDeviceSynchronize());
  sink = m[5];
}
CASE(
    managed_not_waited_for,
    R"(race-host: the host reads byte 20 of managed .* while fill\(int\*, int, int\) in the default stream may still write it)") {
  int* m = managed();
  fill<<<1, 64>>>(m, n, 1); // there
  sink = m[5];              // here
}
CASE(managed_input_read, "clean") {
  int *m = managed(), *out;
  OK(cudaMalloc(&out, bytes));
  scale<<<1, 64>>>(out, m, n);
  sink = m[5];
}
CASE(managed_input_changed, "race-host: the host writes byte 20 of managed .* may still read it") {
  int *m = managed(), *out;
  OK(cudaMalloc(&out, bytes));
  scale<<<1, 64>>>(out, m, n); // there
  m[5] = 6;                    // here
}
CASE(managed_other_part, "clean") {
  int* m = managed();
  fill<<<1, 64>>>(m, n / 2, 1);
  for (int i = n / 2; i < n; ++i) m[i] = i;
  OK(cudaDeviceSynchronize());
}
CASE(managed_other_part_and_one_more, "race-host: the host writes byte 1996 of managed") {
  int* m = managed();
  fill<<<1, 64>>>(m, n / 2, 1);                      // there
  for (int i = n - 1; i >= n / 2 - 1; --i) m[i] = i; // here
  OK(cudaDeviceSynchronize());
}
CASE(managed_variable_waited_for, "clean") {
  set_total<<<1, 1>>>(5);
  OK(cudaDeviceSynchronize());
  sink = total;
}
CASE(managed_variable_not_waited_for,
     R"(race-host: the host reads byte 0 of the variable total .* set_total\(int\))") {
  set_total<<<1, 1>>>(5); // there
  sink = total;           // here
}
CASE(kernel_writes_pinned_waited_for, "clean") {
  Things t;
  fill<<<1, 64, 0, t.one>>>(t.pinned, n, 1);
  OK(cudaStreamSynchronize(t.one));
  sink = t.pinned[0];
}
CASE(kernel_writes_pinned_not_waited_for, "race-host: the host reads byte 0 of pinned .* fill") {
  Things t;
  fill<<<1, 64, 0, t.one>>>(t.pinned, n, 1); // there
  sink = t.pinned[0];                        // here
}

// ---- queries

CASE(stream_asked_once,
     "race-host: the host reads byte 12 of pinned .* while cudaMemcpyAsync in stream 3 may still write it") {
  Things t;
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one)); // there
  static_cast<void>(cudaStreamQuery(t.one));
  sink = t.pinned[3]; // here
}
CASE(stream_asked_until_done, "clean") {
  Things t;
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  if (cudaStreamQuery(t.one) != cudaErrorNotReady) std::abort();
  while (cudaStreamQuery(t.one) == cudaErrorNotReady) {
  }
  sink = t.pinned[3];
  OK(cudaStreamQuery(t.one));
  OK(cudaStreamSynchronize(t.two));
  OK(cudaStreamQuery(t.two));
}
CASE(event_asked_once,
     "race-host: the host reads byte 12 of pinned .* while cudaMemcpyAsync in stream 3 may still write it") {
  Things t;
  const cudaEvent_t event = new_event();
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one)); // there
  OK(cudaEventRecord(event, t.one));
  static_cast<void>(cudaEventQuery(event));
  sink = t.pinned[3]; // here
}
CASE(event_asked_until_done, "clean") {
  Things t;
  const cudaEvent_t event = new_event();
  OK(cudaEventQuery(event)); // never recorded
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  OK(cudaEventRecord(event, t.one));
  while (cudaEventQuery(event) == cudaErrorNotReady) {
  }
  sink = t.pinned[3];
  OK(cudaEventRecord(event, t.one));
  OK(cudaEventSynchronize(event));
  OK(cudaEventQuery(event));
}

// ---- host functions

static void read_first(void* data) {
  sink = *static_cast<volatile int*>(data); // here, where the compilers have kept the line
}
CASE(host_function_in_order, "clean") {
  Things t;
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  OK(cudaLaunchHostFunc(t.one, read_first, t.pinned));
  OK(cudaStreamSynchronize(t.one));
  sink = t.pinned[1];
}
CASE(host_function_in_another_stream, "race-host: the host function in stream 4 reads byte 0 of pinned .* "
                                      "cudaMemcpyAsync in stream 3 may still write it .*Record an event") {
  Things t;
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one)); // there
  OK(cudaLaunchHostFunc(t.two, read_first, t.pinned));                      // here, where they have not
  OK(cudaDeviceSynchronize());
}
static void write_first(void* data) {
  *static_cast<volatile int*>(data) = 7; // here
}
CASE(host_function_writes_in_order, "clean") {
  Things t;
  const cudaEvent_t event = new_event();
  OK(cudaLaunchHostFunc(t.one, write_first, t.pinned));
  OK(cudaEventRecord(event, t.one));
  OK(cudaStreamWaitEvent(t.two, event));
  OK(cudaMemcpyAsync(t.a, t.pinned, bytes, cudaMemcpyHostToDevice, t.two));
  OK(cudaDeviceSynchronize());
}
CASE(host_function_writes_what_is_copied,
     "race-host: the host function in stream 3 writes byte 0 of pinned .* "
     "while cudaMemcpyAsync in stream 4 may still read it .*Record an event") {
  Things t;
  OK(cudaLaunchHostFunc(t.one, write_first, t.pinned));                     // here
  OK(cudaMemcpyAsync(t.a, t.pinned, bytes, cudaMemcpyHostToDevice, t.two)); // there
  OK(cudaDeviceSynchronize());
}
CASE(host_function_after_the_event, "race-host: the host function in stream 3 writes byte 0 of pinned .* "
                                    "while cudaMemcpyAsync in stream 4 may still read it .*Record an event") {
  Things t;
  const cudaEvent_t event = new_event();
  OK(cudaEventRecord(event, t.one));
  OK(cudaLaunchHostFunc(t.one, write_first, t.pinned)); // here
  OK(cudaStreamWaitEvent(t.two, event));
  OK(cudaMemcpyAsync(t.a, t.pinned, bytes, cudaMemcpyHostToDevice, t.two)); // there
  OK(cudaDeviceSynchronize());
}
CASE(host_function_writes_elsewhere, "clean") {
  Things t;
  OK(cudaLaunchHostFunc(t.one, write_first, t.pinned));
  OK(cudaMemcpyAsync(t.a, t.pinned + 1, bytes - sizeof(int), cudaMemcpyHostToDevice, t.two));
  OK(cudaDeviceSynchronize());
}

// ---- threads that a host function starts or wakes, and those that wait for them

// What a host function hands on to a thread that it starts. That thread waits until the call that issued the
// host function has returned, and until the function has kept the thread.
struct Handed {
  int* data;
  std::atomic<bool> issued{false}, kept{false}, over{false};
  std::thread thread;
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  sem_t semaphore;
  explicit Handed(Things& t) : data(t.pinned) { sem_init(&semaphore, 0, 0); }
  void wait_for_both() const {
    while (!issued || !kept) {
    }
  }
  ~Handed() { OK(cudaDeviceSynchronize()); } // the host function may still use it
};
static void start_reader(void* given) {
  Handed& handed = *static_cast<Handed*>(given);
  handed.thread = std::thread([&] {
    handed.wait_for_both();
    sink = handed.data[0]; // here
    handed.over = true;
  });
  handed.kept = true;
}
static void wait_for_reader(Handed& handed) {
  handed.issued = true;
  while (!handed.over) {
  }
}
CASE(host_function_starts_a_reader, "clean") {
  Things t;
  Handed handed(t);
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  OK(cudaLaunchHostFunc(t.one, start_reader, &handed));
  wait_for_reader(handed);
  handed.thread.join();
}
CASE(host_function_starts_a_reader_in_another_stream, "race-host: the host reads byte 0 of pinned .* while "
                                                      "cudaMemcpyAsync in stream 3 may still write it") {
  Things t;
  Handed handed(t);
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one)); // there
  OK(cudaLaunchHostFunc(t.two, start_reader, &handed));
  wait_for_reader(handed);
  handed.thread.join();
}
CASE(host_function_starts_a_reader_before_the_copy, "race-host: the host reads byte 0 of pinned .* while "
                                                    "cudaMemcpyAsync in stream 3 may still write it") {
  Things t;
  Handed handed(t);
  OK(cudaLaunchHostFunc(t.one, start_reader, &handed));
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one)); // there
  wait_for_reader(handed);
  handed.thread.join();
}
CASE(host_function_starts_a_reader_that_is_joined, "clean") {
  Things t;
  Handed handed(t);
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  OK(cudaLaunchHostFunc(t.one, start_reader, &handed));
  wait_for_reader(handed);
  handed.thread.join();
  sink = t.pinned[1];
  t.pinned[1] = 7;
  OK(cudaMemcpyAsync(t.b, t.pinned, bytes, cudaMemcpyHostToDevice, t.two));
  OK(cudaDeviceSynchronize());
}
CASE(host_function_starts_a_reader_that_says_when_it_is_over, "clean") {
  Things t;
  Handed handed(t);
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  OK(cudaLaunchHostFunc(t.one, start_reader, &handed));
  wait_for_reader(handed);
  sink = t.pinned[1];
  handed.thread.join();
}
CASE(reader_starts_a_reader, "clean") {
  Things t;
  Handed handed(t);
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  OK(cudaLaunchHostFunc(
      t.one,
      [](void* given) {
        Handed& outer = *static_cast<Handed*>(given);
        outer.thread = std::thread([&] {
          outer.wait_for_both();
          std::thread([&] { sink = outer.data[2]; }).join();
          outer.over = true;
        });
        outer.kept = true;
      },
      &handed));
  wait_for_reader(handed);
  handed.thread.join();
}
static void announce(void* given) {
  Handed& handed = *static_cast<Handed*>(given);
  {
    std::lock_guard lock(handed.mutex);
    handed.ready = true;
  }
  handed.changed.notify_all();
  sem_post(&handed.semaphore);
}
static void wait_until_announced(Handed& handed) {
  std::unique_lock lock(handed.mutex);
  handed.changed.wait(lock, [&] { return handed.ready; });
}
CASE(host_function_announces, "clean") {
  Things t;
  Handed handed(t);
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  OK(cudaLaunchHostFunc(t.one, announce, &handed));
  wait_until_announced(handed);
  sink = t.pinned[0];
}
CASE(host_function_announces_too_early, "race-host: the host reads byte 0 of pinned .* while "
                                        "cudaMemcpyAsync in stream 3 may still write it") {
  Things t;
  Handed handed(t);
  OK(cudaLaunchHostFunc(t.one, announce, &handed));
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one)); // there
  wait_until_announced(handed);
  sink = t.pinned[0]; // here
}
CASE(host_function_announces_to_a_waiting_thread, "clean") {
  Things t;
  Handed handed(t);
  std::thread waits([&] {
    wait_until_announced(handed);
    sink = t.pinned[0];
  });
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  OK(cudaLaunchHostFunc(t.one, announce, &handed));
  waits.join();
  sink = t.pinned[1];
}
CASE(host_function_posts, "clean") {
  Things t;
  Handed handed(t);
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  OK(cudaLaunchHostFunc(t.one, announce, &handed));
  sem_wait(&handed.semaphore);
  sink = t.pinned[0];
}
CASE(host_function_posts_in_another_stream, "race-host: the host reads byte 0 of pinned .* while "
                                            "cudaMemcpyAsync in stream 3 may still write it") {
  Things t;
  Handed handed(t);
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one)); // there
  OK(cudaLaunchHostFunc(t.two, announce, &handed));
  sem_wait(&handed.semaphore);
  sink = t.pinned[0]; // here
}
// A lock that a host function has never held orders nothing.
CASE(host_takes_another_lock, "race-host: the host reads byte 0 of pinned") {
  Things t;
  Handed handed(t);
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one)); // there
  OK(cudaLaunchHostFunc(t.one, announce, &handed));
  std::mutex other;
  std::lock_guard lock(other);
  sink = t.pinned[0]; // here
}
// More accesses than are looked at one by one.
CASE(host_function_starts_a_reader_of_everything, "clean") {
  Things t;
  Handed handed(t);
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  OK(cudaLaunchHostFunc(
      t.one,
      [](void* given) {
        Handed& mine = *static_cast<Handed*>(given);
        mine.thread = std::thread([&] {
          mine.wait_for_both();
          for (int i = 0; i < 10 * n; ++i) sink = mine.data[i % n];
          mine.over = true;
        });
        mine.kept = true;
      },
      &handed));
  wait_for_reader(handed);
  handed.thread.join();
}

// ---- threads that wait for a host function by what is compiled into the program

// A host function that keeps a promise, and sets a flag.
struct Promised {
  std::promise<int> promise;
  std::atomic<bool> kept{false};
  ~Promised() { OK(cudaDeviceSynchronize()); }
};
static void keep_promise(void* given) {
  Promised& promised = *static_cast<Promised*>(given);
  promised.kept = true;
  promised.promise.set_value(1);
}
CASE(promise_of_a_host_function, "clean") {
  Things t;
  Promised promised;
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  OK(cudaLaunchHostFunc(t.one, keep_promise, &promised));
  promised.promise.get_future().get();
  sink = t.pinned[0];
  t.pinned[0] = 7;
  OK(cudaMemcpyAsync(t.b, t.pinned, bytes, cudaMemcpyHostToDevice, t.two));
  OK(cudaDeviceSynchronize());
}
CASE(promise_of_another_stream, "race-host: the host reads byte 0 of pinned .* while "
                                "cudaMemcpyAsync in stream 3 may still write it") {
  Things t;
  Promised promised;
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one)); // there
  OK(cudaLaunchHostFunc(t.two, keep_promise, &promised));
  promised.promise.get_future().get();
  sink = t.pinned[0]; // here
}
CASE(promise_before_the_copy, "race-host: the host reads byte 0 of pinned .* while "
                              "cudaMemcpyAsync in stream 3 may still write it") {
  Things t;
  Promised promised;
  OK(cudaLaunchHostFunc(t.one, keep_promise, &promised));
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one)); // there
  promised.promise.get_future().get();
  sink = t.pinned[0]; // here
}
CASE(promise_not_waited_for, "race-host: the host reads byte 0 of pinned .* while "
                             "cudaMemcpyAsync in stream 3 may still write it") {
  Things t;
  Promised promised;
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one)); // there
  OK(cudaLaunchHostFunc(t.one, keep_promise, &promised));
  sink = t.pinned[0]; // here
  promised.promise.get_future().get();
}
CASE(flag_of_a_host_function, "clean") {
  Things t;
  Promised promised;
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  OK(cudaLaunchHostFunc(t.one, keep_promise, &promised));
  while (!promised.kept) {
  }
  sink = t.pinned[0];
}
CASE(flag_looked_at_once, "race-host: the host reads byte 0 of pinned .* while "
                          "cudaMemcpyAsync in stream 3 may still write it") {
  Things t;
  Promised promised;
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one)); // there
  OK(cudaLaunchHostFunc(t.one, keep_promise, &promised));
  if (!promised.kept) sink = t.pinned[0]; // here
}
CASE(task_of_a_thread_that_waits, "clean") {
  Things t;
  Promised promised;
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  OK(cudaLaunchHostFunc(t.one, keep_promise, &promised));
  auto sum = std::async(std::launch::async, [&] {
    promised.promise.get_future().get();
    return t.pinned[0] + t.pinned[1];
  });
  sink = sum.get();
  sink = t.pinned[2];
}
CASE(task_of_a_thread_that_does_not, "race-host: the host reads byte 0 of pinned .* while "
                                     "cudaMemcpyAsync in stream 3 may still write it") {
  Things t;
  Promised promised;
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one)); // there
  OK(cudaLaunchHostFunc(t.one, keep_promise, &promised));
  auto read = std::async(std::launch::async, [&] { sink = t.pinned[0]; }); // here
  read.get();
}
// Threads of the program that issue work and wait for it count as one.
CASE(packaged_task_that_issues_and_waits, "clean") {
  Things t;
  std::packaged_task<int()> task([&] {
    OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
    OK(cudaStreamSynchronize(t.one));
    return 1;
  });
  std::future<int> done = task.get_future();
  std::thread thread(std::move(task));
  done.get();
  sink = t.pinned[0];
  thread.join();
}
CASE(packaged_task_that_only_issues, "race-host: the host reads byte 0 of pinned .* while "
                                     "cudaMemcpyAsync in stream 3 may still write it") {
  Things t;
  std::packaged_task<int()> task([&] {
    OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one)); // there
    return 1;
  });
  std::future<int> done = task.get_future();
  std::thread thread(std::move(task));
  done.get();
  sink = t.pinned[0]; // here
  thread.join();
}

// ---- graphs, memory in the order of a stream

static cudaGraphExec_t captured(Things& t) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  OK(cudaStreamBeginCapture(t.one, cudaStreamCaptureModeGlobal));
  fill<<<1, 64, 0, t.one>>>(t.a, n, 1);
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  OK(cudaStreamEndCapture(t.one, &graph));
  OK(cudaGraphInstantiate(&ready, graph, 0));
  return ready;
}
CASE(graph_waited_for, "clean") {
  Things t;
  const cudaGraphExec_t graph = captured(t);
  OK(cudaGraphLaunch(graph, t.one));
  OK(cudaGraphLaunch(graph, t.one));
  OK(cudaStreamSynchronize(t.one));
  sink = t.pinned[0];
}
CASE(graph_in_two_streams, "clean") {
  Things t;
  const cudaGraphExec_t graph = captured(t);
  OK(cudaGraphLaunch(graph, t.one));
  OK(cudaGraphLaunch(graph, t.two));
  OK(cudaStreamSynchronize(t.two));
  sink = t.pinned[3];
}
CASE(two_graphs_in_two_streams, "race-host: .* a graph in stream 4 writes .* a graph in stream 3 ") {
  Things t;
  const cudaGraphExec_t one = captured(t), two = captured(t);
  OK(cudaGraphLaunch(one, t.one)); // there
  OK(cudaGraphLaunch(two, t.two)); // here
}
CASE(graph_not_waited_for,
     "race-host: the host reads byte 0 of pinned .* a copy in a graph in stream 3 may still write it") {
  Things t;
  const cudaGraphExec_t graph = captured(t);
  OK(cudaGraphLaunch(graph, t.one)); // there
  sink = t.pinned[0];                // here
}
static void two_nodes(Things& t, bool ordered) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaGraphNode_t first, second;
  int count = n, value = 1;
  void* arguments[] = {&t.a, &count, &value};
  cudaKernelNodeParams node{};
  node.func = reinterpret_cast<void*>(fill);
  node.gridDim = dim3(1);
  node.blockDim = dim3(64);
  node.kernelParams = arguments;
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &node));
  value = 2;
  OK(cudaGraphAddKernelNode(&second, graph, &first, ordered ? 1 : 0, &node));
  OK(cudaGraphInstantiate(&ready, graph, 0));
  OK(cudaGraphLaunch(ready, t.one)); // here
  OK(cudaGraphLaunch(ready, t.one)); // here
  OK(cudaStreamSynchronize(t.one));
}
CASE(graph_nodes_ordered, "clean") {
  Things t;
  two_nodes(t, true);
}
CASE(graph_nodes_not_ordered,
     "race-host: fill.* in a graph in stream 3 writes byte 0 .* fill.* in a graph in stream 3 writes; "
     "no dependency orders the two .*Add a dependency") {
  Things t;
  two_nodes(t, false);
}
CASE(freed_in_order, "clean") {
  Things t;
  int* c;
  const cudaEvent_t used = new_event();
  OK(cudaMallocAsync(&c, bytes, t.one));
  fill<<<1, 64, 0, t.one>>>(c, n, 1);
  OK(cudaEventRecord(used, t.one));
  OK(cudaStreamWaitEvent(t.two, used));
  OK(cudaFreeAsync(c, t.two));
}
CASE(freed_in_another_stream, "race-host: cudaFreeAsync in stream 4 writes byte 0 of allocation 4 .*, which "
                              "fill.* in stream 3 writes") {
  Things t;
  int* c;
  OK(cudaMallocAsync(&c, bytes, t.one)); // there
  fill<<<1, 64, 0, t.one>>>(c, n, 1);    // there
  OK(cudaFreeAsync(c, t.two));           // here
}
CASE(allocated_in_another_stream,
     "race-host: fill.* in stream 4 writes .*, which cudaMallocAsync in stream 3 writes") {
  Things t;
  int* c;
  OK(cudaMallocAsync(&c, bytes, t.one)); // there
  fill<<<1, 64, 0, t.two>>>(c, n, 1);    // here
}

// ---- memory of the device alone

CASE(device_memory_read,
     "host-access: the host reads device memory at 0x[0-9a-f]+: byte 16 of allocation 1") {
  Things t;
  sink = t.a[4]; // here
}
CASE(device_memory_written,
     "host-access: the host writes device memory at 0x[0-9a-f]+: byte 0 of allocation 2") {
  Things t;
  t.b[0] = 1; // here
  OK(cudaMemcpy(t.pinned, t.b, bytes, cudaMemcpyDeviceToHost));
}
CASE(device_memory_copied, "clean") {
  Things t;
  fill<<<1, 64>>>(t.a, n, 1);
  OK(cudaMemcpy(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost));
  sink = t.pinned[4];
}

// ---- signals that mean something else: they end the process as ever (test_host_order.py)

static void close_something(Things& t) {
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
}
SIGNAL_CASE(null_pointer) {
  Things t;
  close_something(t);
  sink = 0;
  sink =
      *reinterpret_cast<volatile int*>(static_cast<std::uintptr_t>(sink)); // which the compiler cannot know
}
SIGNAL_CASE(fault_sent) {
  Things t;
  close_something(t);
  std::raise(SIGSEGV);
}
SIGNAL_CASE(trap_sent) {
  Things t;
  close_something(t);
  std::raise(SIGTRAP);
}

// ---- freeing

CASE(freed_once, "clean") {
  int* a;
  OK(cudaMalloc(&a, bytes));
  OK(cudaFree(a));
  OK(cudaFree(nullptr));
}
CASE(freed_twice, "bad-free: cudaFree frees allocation 1 .*, which has already been freed") {
  int* a;
  OK(cudaMalloc(&a, bytes));
  OK(cudaFree(a));                // there
  static_cast<void>(cudaFree(a)); // here
}
CASE(freed_inside, "bad-free: cudaFree is called with byte 16 of allocation 1 .*, not with its first byte") {
  int* a;
  OK(cudaMalloc(&a, bytes));          // there
  static_cast<void>(cudaFree(a + 4)); // here
  OK(cudaFree(a));
}
CASE(pinned_freed_twice,
     "bad-free: cudaFreeHost frees pinned allocation 1 .*, which has already been freed") {
  int* a;
  OK(cudaMallocHost(&a, bytes));
  OK(cudaFreeHost(a));                // there
  static_cast<void>(cudaFreeHost(a)); // here
}
CASE(freed_twice_in_order, "bad-free: cudaFreeAsync frees allocation 1 .*, which has already been freed") {
  int* a;
  OK(cudaMallocAsync(&a, bytes, nullptr));
  OK(cudaFreeAsync(a, nullptr));                // there
  static_cast<void>(cudaFreeAsync(a, nullptr)); // here
  static_cast<void>(cudaDeviceSynchronize());   // which has its error
}

// ---- more than is kept

__global__ void every_second(int* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[2 * i] = i;
}
static int* scattered(int count) {
  int* out;
  OK(cudaMallocHost(&out, 2 * count * sizeof(int)));
  every_second<<<count / 256, 256>>>(out, count); // here
  return out;
}
CASE(scattered_and_waited_for, "clean") {
  const int* out = scattered(1 << 16);
  OK(cudaDeviceSynchronize());
  sink = out[(2 << 16) - 3];
}
CASE(scattered_over_more_than_is_kept,
     "not-checked: races between the host and earlier work are not checked from here on") {
  sink = scattered(1 << 16)[(2 << 16) - 3];
}
static void read_all(int count, bool waits) {
  const int* out = scattered(count);
  if (waits) OK(cudaDeviceSynchronize());
  for (int i = 0; i < count; ++i) sink = out[2 * i]; // here
}
CASE(many_reads, "race-host: the host reads byte 0 of pinned") {
  read_all(1024 - 256, false);
}
CASE(more_reads_than_are_kept,
     "race-host|not-checked: races between the host and earlier work are not checked from here on") {
  read_all(1280, false);
}
CASE(many_reads_after_a_wait, "clean") {
  read_all(1280, true);
}

int main(int argc, char** argv) {
  return run_case(argc, argv);
}
