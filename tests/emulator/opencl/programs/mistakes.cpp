// Wrong kernels: mistakes FILE KERNEL
#include "opencl.hpp"

#include <string_view>

int main(int, char** arguments) {
  const Session session;
  const cl_program program = session.built_from(arguments[1]);
  const cl_kernel kernel = clCreateKernel(program, arguments[2], nullptr);
  const std::size_t items = 64;
  const std::string_view name = arguments[2];
  const cl_mem out = session.buffer(std::vector<int>(items), name == "to_read_only"      ? CL_MEM_READ_ONLY
                                                             : name == "from_write_only" ? CL_MEM_WRITE_ONLY
                                                                                         : CL_MEM_READ_WRITE);
  set(kernel, 0, out);
  clSetKernelArg(kernel, 1, items * sizeof(int), nullptr);
  SHOW(clEnqueueNDRangeKernel(session.queue, kernel, 1, nullptr, &items, &items, 0, nullptr, nullptr));
  SHOW(clFinish(session.queue));
  clReleaseMemObject(out);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}
