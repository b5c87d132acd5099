// How a call fails: with the error code that the OpenCL specification names for it and, where the code alone
// does not say enough, a line on stderr.
#pragma once

#include "headers.hpp"

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace warpfold::opencl {

struct Refusal : std::runtime_error {
  explicit Refusal(cl_int error, const std::string& message = "")
      : std::runtime_error(message), code(error) {}
  cl_int code;
};

inline void require(bool holds, cl_int error, const std::string& message = "") {
  if (!holds) throw Refusal(error, message);
}

// Throws Refusal with `error`, or with the code that fits the failure better, unless the call succeeded.
void require_cuda(cudaError_t result, cl_int error = CL_OUT_OF_RESOURCES);

// The code of the exception that is being handled; says its message on stderr.
cl_int code_of_exception(const char* function) noexcept;

// The body of a function that returns a code.
template <typename Body>
cl_int status(const char* function, Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return CL_SUCCESS;
  } catch (...) {
    return code_of_exception(function);
  }
}

// The body of a function that returns a new object, or null and a code.
template <typename Body>
auto created(const char* function, cl_int* code, Body&& body) noexcept -> decltype(body()) {
  decltype(body()) result = nullptr;
  const cl_int outcome = status(function, [&] { result = std::forward<Body>(body)(); });
  if (code) *code = outcome;
  return result;
}

} // namespace warpfold::opencl
