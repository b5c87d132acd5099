#include "host_threads.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <new>
#include <pthread.h>
#include <semaphore.h>
#include <utility>

namespace warpfold::runtime::ordering {
namespace {

// In the static thread-local block: a signal handler reads it.
__attribute__((tls_model("initial-exec"))) constinit thread_local const watch::Clock* known_here = nullptr;

std::atomic<bool> any_is_known = false; // to any thread

// By mutex, semaphore or ended thread: what its last users knew. Never destroyed: threads may outlive it.
struct Passed {
  std::mutex mutex;
  std::map<const void*, Known> by_object;
  std::map<pthread_t, Known> by_thread;
};
Passed& passed() {
  static Passed* const only = new Passed;
  return *only;
}

struct Own {
  Known known, in_host_function;
  void know(Known more) {
    known = std::move(more);
    known_here = known.get();
  }
  Known all() const;
  ~Own() {
    if (known) {
      std::lock_guard lock(passed().mutex);
      passed().by_thread[pthread_self()] = known;
    }
    know(nullptr);
  }
};
thread_local Own own;

// Null counts as nothing known.
Known both(const Known& a, const Known& b) {
  if (!a || !b || a == b) return a ? a : b;
  watch::Clock joined = *a;
  if (joined.size() < b->size()) joined.resize(b->size());
  for (std::size_t i = 0; i < b->size(); ++i) joined[i] = std::max(joined[i], (*b)[i]);
  if (joined == *a) return a;
  return joined == *b ? b : std::make_shared<const watch::Clock>(std::move(joined));
}

Known Own::all() const {
  return both(known, in_host_function);
}

bool knows_anything() {
  return any_is_known.load(std::memory_order_relaxed) && own.all();
}

void learn(const Known& more) {
  if (more) own.know(both(own.known, more));
}

void release(const void* object) {
  const Known mine = own.all();
  std::lock_guard lock(passed().mutex);
  Known& here = passed().by_object[object];
  here = both(here, mine);
}

void acquire(const void* object) {
  Known found;
  {
    std::lock_guard lock(passed().mutex);
    const auto here = passed().by_object.find(object);
    if (here != passed().by_object.end()) found = here->second;
  }
  learn(found);
}

void forget(const void* object) {
  std::lock_guard lock(passed().mutex);
  passed().by_object.erase(object);
}

void acquire_from(pthread_t ended) {
  Known found;
  {
    std::lock_guard lock(passed().mutex);
    if (auto entry = passed().by_thread.extract(ended)) found = std::move(entry.mapped());
  }
  learn(found);
}

struct Start {
  void* (*routine)(void*);
  void* argument;
  Known known;
};

void* start_knowing(void* given) {
  const std::unique_ptr<Start> start(static_cast<Start*>(given));
  own.know(std::move(start->known));
  return start->routine(start->argument);
}

} // namespace

bool thread_knows(std::uint32_t actor, std::uint32_t number) {
  return known_here && actor < known_here->size() && (*known_here)[actor] >= number;
}

Known take_what_thread_knows() {
  if (!known_here) return nullptr;
  Known taken = own.known;
  own.know(nullptr);
  return taken;
}

InHostFunction::InHostFunction(const watch::Clock& view) {
  own.in_host_function = std::make_shared<const watch::Clock>(view);
  any_is_known = true;
}

InHostFunction::~InHostFunction() {
  own.in_host_function = nullptr;
}

} // namespace warpfold::runtime::ordering

// The functions by which threads wait for each other, in front of the C library's. They are exported without
// a version, so that they stand for each of its versions.
namespace {

using namespace warpfold::runtime::ordering;

extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[], _end[]; // of this library

// This library's own threads and locks order nothing of the program's.
bool is_of_program(const void* return_address) {
  const char* const at = static_cast<const char*>(return_address);
  return at < __ehdr_start || at >= _end;
}

// Whether a function's caller passes on what its thread knows, or may learn something.
bool passes_on(const void* return_address) {
  return knows_anything() && is_of_program(return_address);
}
bool takes_over(const void* return_address) {
  return any_is_known.load(std::memory_order_relaxed) && is_of_program(return_address);
}

void* next_of(std::atomic<void*>& known, const char* name) {
  void* found = known.load(std::memory_order_relaxed);
  if (!found) {
    found = dlsym(RTLD_NEXT, name);
    known.store(found, std::memory_order_relaxed);
  }
  return found;
}

} // namespace

#define NEXT(name)                                                                                           \
  reinterpret_cast<decltype(&(name))>([] {                                                                   \
    static constinit std::atomic<void*> known = nullptr;                                                     \
    return next_of(known, #name);                                                                            \
  }())

extern "C" {

#pragma GCC visibility push(default)

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                   void* argument) {
  const auto create = NEXT(pthread_create);
  if (!passes_on(__builtin_return_address(0))) return create(thread, attributes, routine, argument);
  auto* const start = new (std::nothrow) Start{routine, argument, own.all()};
  if (!start) return EAGAIN;
  const int error = create(thread, attributes, start_knowing, start);
  if (error != 0) delete start; // otherwise, the thread does
  return error;
}

int pthread_join(pthread_t thread, void** result) {
  const int error = NEXT(pthread_join)(thread, result);
  if (error == 0 && takes_over(__builtin_return_address(0))) acquire_from(thread);
  return error;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  const int error = NEXT(pthread_mutex_lock)(mutex);
  if (error == 0 && takes_over(__builtin_return_address(0))) acquire(mutex);
  return error;
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  const int error = NEXT(pthread_mutex_trylock)(mutex);
  if (error == 0 && takes_over(__builtin_return_address(0))) acquire(mutex);
  return error;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  if (passes_on(__builtin_return_address(0))) release(mutex);
  return NEXT(pthread_mutex_unlock)(mutex);
}

int pthread_mutex_destroy(pthread_mutex_t* mutex) {
  if (takes_over(__builtin_return_address(0))) forget(mutex);
  return NEXT(pthread_mutex_destroy)(mutex);
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  if (passes_on(__builtin_return_address(0))) release(mutex);
  const int error = NEXT(pthread_cond_wait)(condition, mutex);
  if (takes_over(__builtin_return_address(0))) acquire(mutex);
  return error;
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  if (passes_on(__builtin_return_address(0))) release(mutex);
  const int error = NEXT(pthread_cond_timedwait)(condition, mutex, until);
  if (takes_over(__builtin_return_address(0))) acquire(mutex);
  return error;
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  if (passes_on(__builtin_return_address(0))) release(mutex);
  const int error = NEXT(pthread_cond_clockwait)(condition, mutex, clock, until);
  if (takes_over(__builtin_return_address(0))) acquire(mutex);
  return error;
}

int sem_post(sem_t* semaphore) {
  if (passes_on(__builtin_return_address(0))) release(semaphore);
  return NEXT(sem_post)(semaphore);
}

int sem_wait(sem_t* semaphore) {
  const int error = NEXT(sem_wait)(semaphore);
  if (error == 0 && takes_over(__builtin_return_address(0))) acquire(semaphore);
  return error;
}

int sem_trywait(sem_t* semaphore) {
  const int error = NEXT(sem_trywait)(semaphore);
  if (error == 0 && takes_over(__builtin_return_address(0))) acquire(semaphore);
  return error;
}

int sem_timedwait(sem_t* semaphore, const timespec* until) {
  const int error = NEXT(sem_timedwait)(semaphore, until);
  if (error == 0 && takes_over(__builtin_return_address(0))) acquire(semaphore);
  return error;
}

#pragma GCC visibility pop
}
