// The host's own loads and stores: in memory that it shares with work in flight, and in the device's.
#include "things.hpp"

#include <csignal>
#include <cstdint>
#include <thread>

__managed__ int total;
__global__ void set_total(int value) {
  total = value;
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

int main(int argc, char** argv) {
  return run_case(argc, argv);
}
