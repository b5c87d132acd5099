// Streams, events, the default stream and queries: what orders work, and what does not.
#include "things.hpp"

#include <atomic>
#include <thread>

__global__ void tally(int* sum) {
  atomicAdd(sum, 1);
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

int main(int argc, char** argv) {
  return run_case(argc, argv);
}
