#include "runtime/reporting/errors.hpp"

#include "runtime/reporting/call_sites.hpp"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>

namespace warpfold::runtime {
namespace {

struct ErrorText {
  int code;
  const char *name, *description;
};

constexpr ErrorText error_texts[] = {
#define CUDA_ERROR(code, name, description) {code, #name, description},
#include "runtime/reporting/errors.def"
#undef CUDA_ERROR
};

const ErrorText* find_text(cudaError_t error) {
  auto found = std::find_if(std::begin(error_texts), std::end(error_texts),
                            [&](const ErrorText& text) { return text.code == static_cast<int>(error); });
  return found == std::end(error_texts) ? nullptr : found;
}

thread_local cudaError_t last_error = cudaSuccess;
thread_local cudaError_t known_fault = cudaSuccess; // the sticky error that this thread has heard of
thread_local const char* outermost_call = nullptr;
thread_local std::optional<RefusedCall> first_refused;
std::atomic<cudaError_t> process_error{cudaSuccess};
std::atomic<bool> are_mistakes_printed{true};

} // namespace

const char* current_call() {
  return outermost_call ? outermost_call : "";
}

Call::Call(const char* function) : outermost_(outermost_call == nullptr) {
  if (outermost_) outermost_call = function;
}

Call::~Call() {
  if (outermost_) outermost_call = nullptr;
}

void print_mistakes(bool wanted) {
  are_mistakes_printed = wanted;
}

bool prints_mistakes() {
  return are_mistakes_printed;
}

void say(const std::string& message) {
  fmt::print(stderr, "warpfold: {}\n", message);
}

cudaError_t sticky_error() {
  return process_error.load(std::memory_order_relaxed);
}

void set_sticky_error(cudaError_t error) {
  cudaError_t none = cudaSuccess;
  process_error.compare_exchange_strong(none, error); // the first fault is the one to investigate
}

void clear_sticky_error() {
  process_error = cudaSuccess;
  last_error = known_fault = cudaSuccess;
}

namespace {

struct RefusedLaunches {
  std::mutex mutex;
  std::vector<RefusedLaunch> all;
};
RefusedLaunches& refused_launches() {
  static RefusedLaunches& launches = *new RefusedLaunches;
  return launches;
}

} // namespace

void note_refused_launch(std::string message, std::string kernel) {
  constexpr std::size_t most = 100; // of those that are reported
  std::lock_guard lock(refused_launches().mutex);
  if (refused_launches().all.size() < most)
    refused_launches().all.push_back(
        {.message = std::move(message), .kernel = std::move(kernel), .frames = callers()});
}

std::vector<RefusedLaunch> take_refused_launches() {
  std::lock_guard lock(refused_launches().mutex);
  return std::exchange(refused_launches().all, {});
}

namespace {

void program_asks_for_errors() {
  std::lock_guard lock(refused_launches().mutex);
  for (RefusedLaunch& launch : refused_launches().all) launch.program_asked = true;
}

} // namespace

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

RefusedCall* refused_call() {
  return first_refused ? &*first_refused : nullptr;
}

namespace {

// A loop that is refused the same way each time gets one message.
void say_once(const std::string& message) {
  static std::mutex mutex;
  static auto& said = *new std::set<std::string>; // outlives static destructors that call us
  constexpr std::size_t most = 1000;
  std::lock_guard lock(mutex);
  if (said.size() < most && said.insert(message).second) say(message);
}

} // namespace

// A program that takes back an error, without having asked why, would keep it from who asks later.
void say_what_nobody_asked() {
  if (first_refused && !first_refused->is_known && !prints_mistakes())
    say_once(fmt::format("{}: {}", first_refused->function, first_refused->why));
}

cudaError_t error_from_exception(const char* function) noexcept {
  try {
    throw;
  } catch (const Refusal& refusal) {
    if (*refusal.what() == '\0') return refusal.code;
    if (prints_mistakes()) say_once(fmt::format("{}: {}", function, refusal.what()));
    if (!first_refused)
      first_refused = {
          .function = function, .why = refusal.what(), .frames = callers(), .kernel = {}, .is_known = false};
    return refusal.code;
  } catch (const std::bad_alloc&) {
    return cudaErrorMemoryAllocation;
  } catch (const std::exception& error) {
    say(fmt::format("{}: {}", function, error.what()));
    return cudaErrorUnknown;
  } catch (...) {
    return cudaErrorUnknown;
  }
}

cudaError_t not_supported(const char* function, const char* instead) {
  say_once(fmt::format("{} is not supported by the emulator{}{}", function, *instead ? ": " : "", instead));
  return remember(cudaErrorNotSupported);
}

namespace {

// A fault is a thread's last error once; then again whenever a call is refused because of it.
void hear_of_fault() {
  const cudaError_t fault = sticky_error();
  if (std::exchange(known_fault, fault) != fault && fault != cudaSuccess) last_error = fault;
}

} // namespace

} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaGetLastError() {
  program_asks_for_errors();
  hear_of_fault();
  if (sticky_error() == cudaSuccess) {
    say_what_nobody_asked();
    first_refused.reset();
  }
  return std::exchange(last_error, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  program_asks_for_errors();
  hear_of_fault();
  return last_error;
}

const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* text = find_text(error);
  return text ? text->name : "unrecognised error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* text = find_text(error);
  return text ? text->description : "unrecognised error code";
}
}

namespace warpfold::runtime {

int refuse_by_name(const char* function) {
  return not_supported(function);
}

} // namespace warpfold::runtime
