// Threads that wait for a host function by what is compiled into the program: futures and atomic variables.
#include "things.hpp"

#include <atomic>
#include <future>
#include <thread>
#include <utility>

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

int main(int argc, char** argv) {
  return run_case(argc, argv);
}
