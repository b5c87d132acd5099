// Host functions, the threads that they start or wake, and those that wait for them.
#include "things.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <semaphore.h>
#include <thread>

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

int main(int argc, char** argv) {
  return run_case(argc, argv);
}
