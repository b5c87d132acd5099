// Kernels: their arguments, shapes and offsets, what is known of them, and programs of several parts.
#include "opencl.hpp"

#include <algorithm>
#include <array>

struct Pair {
  cl_char first;
  cl_int second;
};

void shapes(const Session& session, cl_program program) {
  const cl_mem out = session.buffer(std::vector<int>(8, -1));
  cl_kernel kernel = clCreateKernel(program, "ids", nullptr);
  set(kernel, 0, out);
  const std::size_t global[] = {4, 2}, local[] = {2, 1}, offset[] = {3, 5};
  SHOW(clEnqueueNDRangeKernel(session.queue, kernel, 2, nullptr, global, local, 0, nullptr, nullptr));
  print("without an offset", session.contents<int>(out, 8));
  SHOW(clEnqueueNDRangeKernel(session.queue, kernel, 2, offset, global, nullptr, 0, nullptr, nullptr));
  print("with an offset", session.contents<int>(out, 8));
  clReleaseKernel(kernel);

  // A program that asks for no offset learns of it only by its ids.
  kernel = clCreateKernel(program, "global_ids", nullptr);
  set(kernel, 0, out);
  for (const std::size_t first : {0, 100}) {
    set(kernel, 1, static_cast<cl_int>(first));
    SHOW(clEnqueueNDRangeKernel(session.queue, kernel, 1, &first, global, nullptr, 0, nullptr, nullptr));
    print("ids", session.contents<int>(out, 4));
  }
  clReleaseKernel(kernel);

  kernel = clCreateKernel(program, "required", nullptr);
  set(kernel, 0, out);
  const std::size_t required[] = {4, 2};
  SHOW(clEnqueueNDRangeKernel(session.queue, kernel, 2, nullptr, global, nullptr, 0, nullptr, nullptr));
  SHOW(clEnqueueNDRangeKernel(session.queue, kernel, 2, nullptr, global, required, 0, nullptr, nullptr));
  print("required", session.contents<int>(out, 8));
  SHOW(clEnqueueNDRangeKernel(session.queue, kernel, 2, nullptr, global, local, 0, nullptr, nullptr));
  std::array<std::size_t, 3> group{};
  SHOW(clGetKernelWorkGroupInfo(kernel, session.device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof group,
                                group.data(), nullptr));
  SHOW_VALUE(group[0] * 100 + group[1] * 10 + group[2]);
  clReleaseKernel(kernel);
  clReleaseMemObject(out);
}

void arguments(const Session& session, cl_program program) {
  const cl_mem out = session.buffer(std::vector<int>(8, -1));
  const cl_mem weights = session.buffer(std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8});
  const cl_kernel kernel = clCreateKernel(program, "arguments", nullptr);
  const cl_int3 vector{{0, 0, 5000}};
  SHOW(set(kernel, 0, out));
  SHOW(set(kernel, 1, weights));
  SHOW(clSetKernelArg(kernel, 2, 8 * sizeof(int), nullptr));
  SHOW(clSetKernelArg(kernel, 3, 8 * 4 * sizeof(double), nullptr));
  SHOW(set(kernel, 4, vector));
  SHOW(set(kernel, 5, Pair{3, 100000}));
  const std::size_t eight = 8;
  SHOW(clEnqueueNDRangeKernel(session.queue, kernel, 1, nullptr, &eight, &eight, 0, nullptr, nullptr));
  print("sums", session.contents<int>(out, 8));
  cl_ulong local = 0;
  SHOW(clGetKernelWorkGroupInfo(kernel, session.device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local, &local,
                                nullptr));
  SHOW_VALUE(local);

  for (cl_uint i = 0; i < 6; ++i) {
    std::array<char, 50> name{}, type{};
    cl_kernel_arg_address_qualifier space = 0;
    clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_NAME, name.size(), name.data(), nullptr);
    clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_NAME, type.size(), type.data(), nullptr);
    clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, nullptr);
    std::printf("%s: %s, %s\n", name.data(), type.data(),
                space == CL_KERNEL_ARG_ADDRESS_GLOBAL     ? "global"
                : space == CL_KERNEL_ARG_ADDRESS_CONSTANT ? "constant"
                : space == CL_KERNEL_ARG_ADDRESS_LOCAL    ? "local"
                                                          : "private");
  }
  clReleaseKernel(kernel);
  clReleaseMemObject(out);
  clReleaseMemObject(weights);
}

void atomics(const Session& session, cl_program program) {
  const cl_mem out = session.buffer(std::vector<int>{0, 0, 0});
  const cl_kernel kernel = clCreateKernel(program, "atomics", nullptr);
  set(kernel, 0, out);
  clSetKernelArg(kernel, 1, 2 * sizeof(int), nullptr);
  const std::size_t items = 256, group = 64;
  SHOW(clEnqueueNDRangeKernel(session.queue, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr));
  print("atomics", session.contents<int>(out, 3));
  clReleaseKernel(kernel);
  clReleaseMemObject(out);
}

void printing(const Session& session, cl_program program) {
  const cl_mem in = session.buffer(std::vector<float>{0, 1, 2.25F, 3});
  const cl_kernel kernel = clCreateKernel(program, "printing", nullptr);
  set(kernel, 0, in);
  const std::size_t four = 4;
  SHOW(clEnqueueNDRangeKernel(session.queue, kernel, 1, nullptr, &four, nullptr, 0, nullptr, nullptr));
  SHOW(clFinish(session.queue));
  clReleaseKernel(kernel);
  clReleaseMemObject(in);
}

int run(const Session& session, cl_program program, const char* name) {
  const cl_mem out = session.buffer(std::vector<int>{0});
  const cl_kernel kernel = clCreateKernel(program, name, nullptr);
  set(kernel, 0, out);
  SHOW(clEnqueueTask(session.queue, kernel, 0, nullptr, nullptr));
  const int value = session.contents<int>(out, 1)[0];
  clReleaseKernel(kernel);
  clReleaseMemObject(out);
  return value;
}

void parts(const Session& session) {
  const cl_program header = session.program_from("#define ANSWER 42\nint answer(void);\n");
  const cl_program library = session.program_from(
      "#include \"answer.h\"\n__attribute__((noinline)) int answer(void) { return ANSWER; }\n");
  const cl_program user =
      session.program_from("#include \"answer.h\"\nkernel void ask(global int* out) { *out = answer(); }\n");
  const char* name = "answer.h";
  SHOW(clCompileProgram(library, 0, nullptr, "", 1, &header, &name, nullptr, nullptr));
  SHOW(clCompileProgram(user, 0, nullptr, "", 1, &header, &name, nullptr, nullptr));
  const cl_program both[] = {library, user};
  cl_int error = CL_SUCCESS;
  const cl_program linked = clLinkProgram(session.context, 0, nullptr, "", 2, both, nullptr, nullptr, &error);
  SHOW(error);
  SHOW_VALUE(run(session, linked, "ask"));
  const cl_program half = clLinkProgram(session.context, 0, nullptr, "", 1, &user, nullptr, nullptr, &error);
  SHOW(error);
  std::printf("%s", session.log_of(half).c_str());
  for (const cl_program program : {header, library, user, linked, half}) clReleaseProgram(program);

  const cl_program source =
      session.built("kernel void number(global int* out) { *out = NUMBER; }", "-D NUMBER=7");
  std::size_t size = 0;
  SHOW(clGetProgramInfo(source, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr));
  std::vector<unsigned char> binary(size);
  unsigned char* pointer = binary.data();
  SHOW(clGetProgramInfo(source, CL_PROGRAM_BINARIES, sizeof pointer, static_cast<void*>(&pointer), nullptr));
  const unsigned char* given = binary.data();
  const cl_program again =
      clCreateProgramWithBinary(session.context, 1, &session.device, &size, &given, nullptr, &error);
  SHOW(error);
  SHOW(clBuildProgram(again, 0, nullptr, "", nullptr, nullptr));
  SHOW_VALUE(run(session, again, "number"));
  std::fill(binary.begin(), binary.end(), 'x');
  clCreateProgramWithBinary(session.context, 1, &session.device, &size, &given, nullptr, &error);
  SHOW(error);
  clReleaseProgram(source);
  clReleaseProgram(again);
}

int main(int, char** arguments_of_program) {
  const Session session;
  const cl_program program = session.built_from(arguments_of_program[1]);
  std::array<char, 200> names{};
  SHOW(clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, names.size(), names.data(), nullptr));
  std::printf("%s\n", names.data());
  shapes(session, program);
  arguments(session, program);
  atomics(session, program);
  printing(session, program);
  parts(session);
  clReleaseProgram(program);
}
