// What all OpenCL objects have in common. A handle points to an object that begins with the loader's table of
// functions (cl_khr_icd), has a mark by which a handle of another type is recognised, and counts references.
#pragma once

#include "failures.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace warpfold::opencl {

extern cl_icd_dispatch dispatch; // icd.cpp

enum class Kind : std::uint32_t {
  gone = 0,              // a released object, as long as its memory is not used anew
  platform = 0x77662001, // any numbers that memory does not hold by chance
  device,
  context,
  queue,
  memory,
  program,
  kernel,
  event,
};

template <Kind kind>
struct Object {
  cl_icd_dispatch* table = &dispatch; // first: the loader reads it
  Kind mark = kind;
  std::atomic<cl_uint> references{1};

  static constexpr Kind own_kind = kind;
  Object() = default;
  ~Object() { mark = Kind::gone; }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
};

// The object of a handle. Throws Refusal with `error` if it is null, released or of another type.
template <typename T>
T& checked(T* handle, cl_int error) {
  if (!handle || handle->mark != T::own_kind) throw Refusal(error);
  return *handle;
}

template <typename T>
void retain(T& object) {
  ++object.references;
}
template <typename T>
void release(T& object) {
  if (--object.references == 0) delete &object;
}

// A reference that this library holds itself.
template <typename T>
class Ref {
public:
  Ref() = default;
  explicit Ref(T& object) : object_(&object) { retain(object); }
  // Takes over the reference that a new object begins with.
  static Ref to_new(std::unique_ptr<T> object) {
    Ref result;
    result.object_ = object.release();
    return result;
  }
  Ref(const Ref& other) : object_(other.object_) {
    if (object_) retain(*object_);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) release(*object_);
  }
  T* get() const { return object_; }
  // With a reference for the program.
  T* handed_out() const {
    if (object_) retain(*object_);
    return object_;
  }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

private:
  T* object_ = nullptr;
};

// The bodies of clRetain... and clRelease...
template <typename T>
cl_int retain_handle(const char* function, T* handle, cl_int error) {
  return status(function, [&] { retain(checked(handle, error)); });
}
template <typename T>
cl_int release_handle(const char* function, T* handle, cl_int error) {
  return status(function, [&] { release(checked(handle, error)); });
}

} // namespace warpfold::opencl
