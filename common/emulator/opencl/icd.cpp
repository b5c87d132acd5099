// The way in: the functions that the loader looks up (cl_khr_icd), and the table of all others that it finds
// in each object.
#include "device.hpp"

#include <cstring>

namespace warpfold::opencl {
namespace {

// A function that the device does not support: it fails with an error that the specification names for it. An
// object's creation returns null and puts the error where its last argument says.
template <typename Function, cl_int error>
struct Refused;

template <typename Result, typename... Arguments, cl_int error>
struct Refused<Result (*)(Arguments...), error> {
  static Result call(Arguments... arguments) {
    if constexpr (std::is_same_v<Result, cl_int>) {
      return error;
    } else if constexpr (std::is_pointer_v<Result>) {
      (note(arguments), ...);
      return nullptr;
    }
  }

private:
  static void note(cl_int* code) {
    if (code) *code = error;
  }
  template <typename Other>
  static void note(const Other&) {}
};

void* function_named(const char* name);

cl_icd_dispatch make_table() {
  cl_icd_dispatch table{};
#define SUPPORTED(name) table.name = &(name);
#include "supported.def"
#define REFUSED(name, error) table.name = &Refused<decltype(table.name), error>::call;
#include "refused.def"
  return table;
}

struct Named {
  const char* name;
  void* function;
};

void* function_named(const char* name) {
  static const Named all[] = {
  // NOLINT(modernize-avoid-c-arrays): sized by its rows
#define SUPPORTED(name) {#name, reinterpret_cast<void*>(&(name))},
#include "supported.def"
  };
  for (const Named& each : all)
    if (name && std::strcmp(each.name, name) == 0) return each.function;
  return nullptr;
}

} // namespace

cl_icd_dispatch dispatch = make_table();

} // namespace warpfold::opencl

using namespace warpfold::opencl;

#pragma GCC visibility push(default)
extern "C" {

cl_int clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id* platforms, cl_uint* count) {
  return clGetPlatformIDs(room, platforms, count);
}

void* clGetExtensionFunctionAddress(const char* name) {
  if (name && std::strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
    return reinterpret_cast<void*>(&clIcdGetPlatformIDsKHR);
  return function_named(name);
}

void* clGetExtensionFunctionAddressForPlatform(cl_platform_id, const char* name) {
  return clGetExtensionFunctionAddress(name);
}
}
#pragma GCC visibility pop
