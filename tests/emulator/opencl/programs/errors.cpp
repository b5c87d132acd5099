// What is refused, and with which error.
#include "opencl.hpp"

#include <limits>

void handles(const Session& session, cl_kernel kernel, cl_mem buffer) {
  // Objects of another type. The loader refuses null itself.
  const auto as_queue = reinterpret_cast<cl_command_queue>(session.context);
  SHOW(clFinish(as_queue));
  SHOW(clReleaseContext(reinterpret_cast<cl_context>(buffer)));
  SHOW(clReleaseMemObject(reinterpret_cast<cl_mem>(kernel)));
  SHOW(clReleaseKernel(reinterpret_cast<cl_kernel>(session.queue)));
  SHOW(clReleaseProgram(reinterpret_cast<cl_program>(session.queue)));
  SHOW(clReleaseEvent(reinterpret_cast<cl_event>(session.queue)));
  SHOW(set(kernel, 0, session.queue));
  SHOW(clEnqueueTask(session.queue, reinterpret_cast<cl_kernel>(buffer), 0, nullptr, nullptr));
  const auto as_event = reinterpret_cast<cl_event>(buffer);
  SHOW(clEnqueueTask(session.queue, kernel, 1, &as_event, nullptr));
  SHOW(clEnqueueTask(session.queue, kernel, 1, nullptr, nullptr));
  int value = 0;
  const Session other;
  SHOW(clEnqueueReadBuffer(other.queue, buffer, CL_TRUE, 0, 4, &value, 0, nullptr, nullptr));
}

void arguments(const Session& session, cl_kernel kernel, cl_mem buffer) {
  SHOW(set(kernel, 9, buffer));
  SHOW(clSetKernelArg(kernel, 0, 4, nullptr));
  SHOW(set(kernel, 1, 2.0));
  SHOW(clSetKernelArg(kernel, 1, 4, nullptr));
  SHOW(clSetKernelArg(kernel, 2, 0, nullptr));
  SHOW(set(kernel, 2, buffer));
  SHOW(set(kernel, 0, buffer));
  SHOW(set(kernel, 1, 2.0F));
  SHOW(clEnqueueTask(session.queue, kernel, 0, nullptr, nullptr));
  SHOW(clSetKernelArg(kernel, 2, 16, nullptr));
  SHOW(clEnqueueTask(session.queue, kernel, 0, nullptr, nullptr));
  SHOW(clSetKernelArg(kernel, 2, 1 << 20, nullptr));
  SHOW(clEnqueueTask(session.queue, kernel, 0, nullptr, nullptr));
  SHOW(clSetKernelArg(kernel, 2, 16, nullptr));
}

void shapes(const Session& session, cl_kernel kernel) {
  const auto enqueue = [&](cl_uint dimensions, const std::size_t* global, const std::size_t* local) {
    return clEnqueueNDRangeKernel(session.queue, kernel, dimensions, nullptr, global, local, 0, nullptr,
                                  nullptr);
  };
  const std::size_t hundred = 100, seven = 7, many[] = {2048, 1, 1}, none = 0, deep[] = {1, 1, 128};
  SHOW(enqueue(0, &hundred, nullptr));
  SHOW(enqueue(4, &hundred, nullptr));
  SHOW(enqueue(1, nullptr, nullptr));
  SHOW(enqueue(1, &none, nullptr));
  SHOW(enqueue(1, &hundred, &seven));
  SHOW(enqueue(1, many, many));
  SHOW(enqueue(3, deep, deep));
  SHOW(enqueue(1, &hundred, nullptr));
  const std::size_t last = std::numeric_limits<std::size_t>::max();
  SHOW(clEnqueueNDRangeKernel(session.queue, kernel, 1, &last, &hundred, nullptr, 0, nullptr, nullptr));
}

void programs(const Session& session) {
  const cl_program wrong =
      session.program_from("#line 1 \"wrong.cl\"\nkernel void f(global int* a) {\n  *a = b;\n}\n");
  cl_int error = CL_SUCCESS;
  clCreateKernel(wrong, "f", &error);
  SHOW(error);
  SHOW(clBuildProgram(wrong, 0, nullptr, "-no-such-option", nullptr, nullptr));
  std::printf("%s", session.log_of(wrong).c_str());
  SHOW(clBuildProgram(wrong, 0, nullptr, "", nullptr, nullptr));
  std::printf("%s", session.log_of(wrong).substr(0, session.log_of(wrong).find('\n') + 1).c_str());
  cl_build_status status = CL_BUILD_NONE;
  SHOW(
      clGetProgramBuildInfo(wrong, session.device, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, nullptr));
  SHOW_VALUE(status == CL_BUILD_ERROR);
  clReleaseProgram(wrong);
  const cl_program unlinked =
      session.program_from("int elsewhere(int); kernel void f(global int* a) { *a = elsewhere(1); }");
  SHOW(clBuildProgram(unlinked, 0, nullptr, "", nullptr, nullptr));
  std::printf("%s", session.log_of(unlinked).c_str());
  clReleaseProgram(unlinked);
  const cl_program of_images = session.program_from(
      "kernel void f(read_only image2d_t i, global uint4* a) { sampler_t s = CLK_FILTER_NEAREST;"
      " *a = read_imageui(i, s, (int2)(0, 0)); }");
  SHOW(clBuildProgram(of_images, 0, nullptr, "", nullptr, nullptr));
  std::printf("%s", session.log_of(of_images).c_str());
  clReleaseProgram(of_images);
}

int main() {
  const Session session;
  const cl_program program =
      session.built("kernel void f(global float* a, float b, local float* c) { c[0] = b; a[0] = c[0]; }");
  const cl_mem buffer = session.buffer(std::vector<float>(16));
  cl_int error = CL_SUCCESS;
  clCreateKernel(program, "g", &error);
  SHOW(error);
  const cl_kernel kernel = clCreateKernel(program, "f", &error);
  SHOW(error);
  SHOW(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr));
  arguments(session, kernel, buffer);
  handles(session, kernel, buffer);
  shapes(session, kernel);
  programs(session);
  SHOW(clEnqueueReadBuffer(session.queue, buffer, CL_TRUE, 60, 8, &error, 0, nullptr, nullptr));
  SHOW(clEnqueueNativeKernel(session.queue, nullptr, nullptr, 0, 0, nullptr, nullptr, 0, nullptr, nullptr));
  clReleaseKernel(kernel);
  clReleaseMemObject(buffer);
  clReleaseProgram(program);
}
