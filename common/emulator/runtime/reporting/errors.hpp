// Errors in the sense of the runtime's interface: the last one of a thread, and the sticky one of the
// process.
#pragma once

#include "runtime/cuda_api.hpp"

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace warpfold::runtime {

// What an entry point throws to refuse a call: the code that it returns, and a line for stderr.
struct Refusal : std::runtime_error {
  Refusal(cudaError_t error, const std::string& message) : std::runtime_error(message), code(error) {}
  cudaError_t code;
};

// Whether what stops a kernel and why a call was refused is printed, besides being reported; at first it is.
void print_mistakes(bool);
bool prints_mistakes();

// Prints one line on stderr, with "warpfold: " before it.
void say(const std::string& message);

// The error that a fault in a kernel left behind. No call but cudaDeviceReset clears it (CUDA Runtime API,
// "Error Handling": such errors leave the process in a state in which all further work returns the same
// error).
cudaError_t sticky_error();
void set_sticky_error(cudaError_t error);
void clear_sticky_error();

// A launch with <<<...>>> was refused, for the reason in `message`. The call itself returns nothing to the
// program, which learns of it only if it asks for the last error.
void note_refused_launch(std::string message, std::string kernel);
struct RefusedLaunch {
  std::string message, kernel;
  std::vector<std::uint64_t> frames; // of the calls that led to it
  bool program_asked = false;        // cudaGetLastError or cudaPeekAtLastError followed
};
// Those since the last call of this.
std::vector<RefusedLaunch> take_refused_launches();

// Makes `error` this thread's last error unless it is a success; returns it.
cudaError_t remember(cudaError_t error);

// Turns the exception that is being handled into an error code, after reporting it on stderr.
cudaError_t error_from_exception(const char* function) noexcept;

// A call that was refused, with the words that stderr got.
struct RefusedCall {
  std::string function, why;
  std::vector<std::uint64_t> frames; // its callers: call_sites.hpp
  std::string kernel;                // whose launch was refused, readable; "" for any other call
  bool is_known = false;             // somebody has asked why
};
// This thread's first since it last took its last error; null if there is none.
RefusedCall* refused_call();

// The function that the program has called on this thread; if one function is implemented by another, the
// outermost.
const char* current_call();

class Call {
public:
  explicit Call(const char* function);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

private:
  const bool outermost_;
};

// The body of an entry point: nothing happens after a sticky error, an exception becomes an error code, and
// the outcome becomes the thread's last error.
template <typename Body>
cudaError_t entry(const char* function, Body&& body) noexcept {
  const Call call(function);
  try {
    if (cudaError_t sticky = sticky_error(); sticky != cudaSuccess) return remember(sticky);
    return remember(std::forward<Body>(body)());
  } catch (...) {
    return remember(error_from_exception(function));
  }
}

// For unsupported functions: says so once per function and returns cudaErrorNotSupported.
cudaError_t not_supported(const char* function, const char* instead = "");

} // namespace warpfold::runtime
