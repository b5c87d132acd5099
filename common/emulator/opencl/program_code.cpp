// A program's code on the devices: linked, loaded, and made again for launches that need its launch values.
#include "kept_translations.hpp"
#include "options.hpp"
#include "program.hpp"
#include "ptx_text.hpp"

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <fmt/format.h>

namespace warpfold::opencl {
namespace {

std::string readable(const std::string& name) {
  int result = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &result), std::free);
  return result == 0 ? text.get() : name;
}

bool is_a_launch_value(const std::string& function) {
  return function == "_Z17get_global_offsetj" || function == "_Z12get_work_dimv";
}

bool is_of_images(const std::string& function) {
  return function == "__translate_sampler_initializer" || function.find("ocl_image") != function.npos;
}

// The PTX of the program, or what is wrong in its log. Throws Refusal.
std::string linked(_cl_program& program, bool with_launch_values) {
  Translation made =
      kept_or([&] { return link(program.llvm, options_of_linking(program.words), with_launch_values); });
  program.log += made.log;
  if (!made.succeeded) throw Refusal(CL_BUILD_PROGRAM_FAILURE);
  return with_padded_table(std::move(made.text));
}

cudaLibrary_t loaded(const std::string& ptx) {
  cudaLibrary_t library = nullptr;
  require_cuda(cudaLibraryLoadData(&library, ptx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
               CL_BUILD_PROGRAM_FAILURE);
  return library;
}

void load(_cl_program& program) {
  std::string ptx = linked(program, false);
  std::vector<std::string> undefined = undefined_functions(ptx);
  const bool needs_values = std::any_of(undefined.begin(), undefined.end(), is_a_launch_value);
  std::erase_if(undefined, is_a_launch_value);
  if (std::ranges::any_of(undefined, is_of_images))
    program.log += "error: the device has no images and no samplers (CL_DEVICE_IMAGE_SUPPORT)\n";
  for (const std::string& name : undefined)
    if (!is_of_images(name))
      program.log += fmt::format("error: the function {} is not defined\n", readable(name));
  if (!undefined.empty()) throw Refusal(CL_BUILD_PROGRAM_FAILURE);
  const OnDevice current(program.context->devices.front()->number);
  if (needs_values)
    program.with_values = loaded(linked(program, true));
  else
    program.plain = loaded(ptx);
}

void note_kernels(_cl_program& program) {
  program.kernels.clear();
  for (const std::string& part : program.llvm)
    for (KernelSource& kernel : kernels_in(part)) program.kernels.push_back(std::move(kernel));
}

} // namespace

void build(_cl_program& program) {
  note_kernels(program);
  load(program);
  program.type = CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
}

} // namespace warpfold::opencl

using namespace warpfold::opencl;

cudaLibrary_t _cl_program::library_with_values() {
  const std::lock_guard lock(making_code);
  if (!with_values) with_values = loaded(linked(*this, true));
  return with_values;
}

void _cl_program::forget_code() {
  if (plain) cudaLibraryUnload(std::exchange(plain, nullptr));
  if (with_values) cudaLibraryUnload(std::exchange(with_values, nullptr));
  values_on_device.clear();
  kernels.clear();
}

_cl_program::~_cl_program() {
  forget_code();
}
