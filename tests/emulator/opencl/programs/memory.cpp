// Buffers: written, read, copied, filled, mapped, divided, and as rectangles.
#include "opencl.hpp"

#include <numeric>

std::vector<int> counted(std::size_t count, int first = 0) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

void copies(const Session& session) {
  const cl_mem a = session.buffer(counted(8)), b = session.buffer(counted(8, 100));
  SHOW(clEnqueueCopyBuffer(session.queue, a, b, 0, 8, 12, 0, nullptr, nullptr));
  print("copied", session.contents<int>(b, 8));
  SHOW(clEnqueueCopyBuffer(session.queue, a, a, 0, 8, 12, 0, nullptr, nullptr));
  SHOW(clEnqueueCopyBuffer(session.queue, a, b, 0, 24, 12, 0, nullptr, nullptr));
  const int pattern[] = {-1, -2};
  SHOW(clEnqueueFillBuffer(session.queue, b, pattern, sizeof pattern, 8, 16, 0, nullptr, nullptr));
  print("filled", session.contents<int>(b, 8));
  SHOW(clEnqueueFillBuffer(session.queue, b, pattern, 3, 0, 24, 0, nullptr, nullptr));
  SHOW(clEnqueueFillBuffer(session.queue, b, pattern, 8, 4, 16, 0, nullptr, nullptr));
  clReleaseMemObject(a);
  clReleaseMemObject(b);
}

void mapping(const Session& session) {
  const cl_mem a = session.buffer(counted(8));
  cl_int error = CL_SUCCESS;
  auto* const mapped = static_cast<int*>(clEnqueueMapBuffer(
      session.queue, a, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 8, 16, 0, nullptr, nullptr, &error));
  SHOW(error);
  print("mapped", {mapped, mapped + 4});
  mapped[1] = 77;
  cl_uint maps = 0;
  SHOW(clGetMemObjectInfo(a, CL_MEM_MAP_COUNT, sizeof maps, &maps, nullptr));
  SHOW_VALUE(maps);
  SHOW(clEnqueueUnmapMemObject(session.queue, a, mapped, 0, nullptr, nullptr));
  SHOW(clEnqueueUnmapMemObject(session.queue, a, mapped, 0, nullptr, nullptr));
  print("after", session.contents<int>(a, 8));
  clReleaseMemObject(a);

  std::vector<int> own = counted(4, 40);
  const cl_mem b = clCreateBuffer(session.context, CL_MEM_USE_HOST_PTR, 16, own.data(), &error);
  SHOW(error);
  const int nines[] = {9, 9, 9, 9};
  SHOW(clEnqueueWriteBuffer(session.queue, b, CL_TRUE, 0, 16, nines, 0, nullptr, nullptr));
  void* const there =
      clEnqueueMapBuffer(session.queue, b, CL_TRUE, CL_MAP_READ, 0, 16, 0, nullptr, nullptr, &error);
  SHOW_VALUE(there == own.data());
  print("the program's own memory", own);
  SHOW(clEnqueueUnmapMemObject(session.queue, b, there, 0, nullptr, nullptr));
  clReleaseMemObject(b);
}

void parts(const Session& session) {
  const cl_mem whole = session.buffer(counted(64));
  cl_buffer_region region{128, 64};
  cl_int error = CL_SUCCESS;
  const cl_mem part =
      clCreateSubBuffer(whole, CL_MEM_READ_ONLY, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  SHOW(error);
  const std::vector<int> values = session.contents<int>(part, 16);
  SHOW_VALUE(values.front() * 100 + values.back());
  cl_mem parent = nullptr;
  std::size_t offset = 0;
  SHOW(clGetMemObjectInfo(part, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, nullptr));
  SHOW_VALUE(parent == whole);
  SHOW(clGetMemObjectInfo(part, CL_MEM_OFFSET, sizeof offset, &offset, nullptr));
  SHOW_VALUE(offset);
  // cl_ext_buffer_device_address
  constexpr cl_mem_info device_address = 0x5202;
  cl_ulong of_whole = 0, of_part = 0;
  SHOW(clGetMemObjectInfo(whole, device_address, sizeof of_whole, &of_whole, nullptr));
  SHOW(clGetMemObjectInfo(part, device_address, sizeof of_part, &of_part, nullptr));
  SHOW_VALUE(of_part - of_whole);
  region.origin = 4;
  clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  SHOW(error);
  region = {128, 1000};
  clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  SHOW(error);
  SHOW(clReleaseMemObject(whole)); // the part still holds it
  SHOW_VALUE(session.contents<int>(part, 16)[3]);
  SHOW(clSetMemObjectDestructorCallback(
      part, [](cl_mem, void* text) { std::printf("%s\n", static_cast<const char*>(text)); },
      const_cast<char*>("the part is gone")));
  SHOW(clReleaseMemObject(part));
}

void rectangles(const Session& session) {
  // 4 rows of 6; the rectangle is 2 rows of 3, from column 1 of row 1 on.
  const cl_mem a = session.buffer(counted(24));
  std::vector<int> host(12, -1);
  const std::size_t there[] = {4, 1, 0}, here[] = {0, 1, 0}, region[] = {12, 2, 1};
  SHOW(clEnqueueReadBufferRect(session.queue, a, CL_TRUE, there, here, region, 24, 0, 16, 0, host.data(), 0,
                               nullptr, nullptr));
  print("read", host);
  host = counted(12, 200);
  SHOW(clEnqueueWriteBufferRect(session.queue, a, CL_TRUE, there, here, region, 24, 0, 16, 0, host.data(), 0,
                                nullptr, nullptr));
  print("written", session.contents<int>(a, 24));
  const std::size_t below[] = {0, 2, 0};
  const cl_mem b = session.buffer(std::vector<int>(24, 0));
  SHOW(clEnqueueCopyBufferRect(session.queue, a, b, there, below, region, 24, 0, 24, 0, 0, nullptr, nullptr));
  print("copied", session.contents<int>(b, 24));
  SHOW(clEnqueueCopyBufferRect(session.queue, a, a, there, there, region, 24, 0, 24, 0, 0, nullptr, nullptr));
  const std::size_t outside[] = {16, 3, 0};
  SHOW(clEnqueueReadBufferRect(session.queue, a, CL_TRUE, outside, here, region, 24, 0, 16, 0, host.data(), 0,
                               nullptr, nullptr));
  clReleaseMemObject(a);
  clReleaseMemObject(b);
}

int main() {
  const Session session;
  copies(session);
  mapping(session);
  parts(session);
  rectangles(session);
  cl_int error = CL_SUCCESS;
  clCreateBuffer(session.context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 4, nullptr, &error);
  SHOW(error);
  clCreateBuffer(session.context, 0, 0, nullptr, &error);
  SHOW(error);
  clCreateBuffer(session.context, CL_MEM_USE_HOST_PTR, 4, nullptr, &error);
  SHOW(error);
  const cl_mem unread = clCreateBuffer(session.context, CL_MEM_HOST_NO_ACCESS, 4, nullptr, &error);
  int value = 0;
  SHOW(clEnqueueReadBuffer(session.queue, unread, CL_TRUE, 0, 4, &value, 0, nullptr, nullptr));
  clReleaseMemObject(unread);
}
