#include "opencl/context.hpp"

#include "opencl/counted.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lab::opencl {
namespace {

cl_device_id device_id;
cl_context context;
cl_command_queue queue;
cl_program programs[3]; // by Order
cl_mem uses_of_run;     // while items count: by global id
constexpr std::size_t most_items = std::size_t{1} << 17;
Order order_of_run = Order::as_it_comes;

// Each item of a work-group takes the number of the one opposite.
constexpr const char* backwards =
    "#define get_local_id(d) (get_local_size(d) - 1 - get_local_id(d))\n"
    "#define get_global_id(d) (get_group_id(d) * get_local_size(d) + get_local_id(d))\n"
    "#line 1\n";

void require(cl_int status, const std::string& what) {
  if (status != CL_SUCCESS) throw Error(fmt::format("{}: OpenCL error {}", what, status));
}

std::string text_of(cl_device_id id, cl_device_info what) {
  std::size_t size = 0;
  clGetDeviceInfo(id, what, 0, nullptr, &size);
  std::string text(size, '\0');
  clGetDeviceInfo(id, what, size, text.data(), nullptr);
  return text.c_str(); // up to the first 0
}

std::vector<cl_device_id> devices_of(cl_device_type type) {
  cl_uint count = 0;
  std::vector<cl_device_id> found;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) return found;
  std::vector<cl_platform_id> platforms(count);
  clGetPlatformIDs(count, platforms.data(), nullptr);
  for (cl_platform_id platform : platforms) {
    if (clGetDeviceIDs(platform, type, 0, nullptr, &count) != CL_SUCCESS) continue;
    std::vector<cl_device_id> more(count);
    clGetDeviceIDs(platform, type, count, more.data(), nullptr);
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

cl_device_id find(Choice choice) {
  if (choice != Choice::emulator) {
    if (const auto gpus = devices_of(CL_DEVICE_TYPE_GPU); !gpus.empty()) return gpus[0];
    if (choice == Choice::gpu) throw NoDevice("OpenCL offers no GPU here; its driver may lack OpenCL");
  }
  if (const auto cpus = devices_of(CL_DEVICE_TYPE_CPU); !cpus.empty()) return cpus[0];
  if (choice == Choice::automatic) {
    if (const auto any = devices_of(CL_DEVICE_TYPE_ALL); !any.empty()) return any[0];
  }
  throw NoDevice("OpenCL offers no device here; PoCL runs it on the CPU (Debian: pocl-opencl-icd)");
}

cl_mem allocate(std::size_t floats, const float* values) {
  cl_int status = CL_SUCCESS;
  const std::size_t bytes = std::max<std::size_t>(floats, 1) * sizeof(float); // OpenCL has no empty buffers
  cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &status);
  require(status, fmt::format("allocating {} bytes", bytes));
  if (values && floats > 0) {
    require(
        clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, floats * sizeof(float), values, 0, nullptr, nullptr),
        "copying to the device");
  }
  return memory;
}

void read_back(cl_mem memory, float* values, std::size_t floats) {
  if (floats == 0) return;
  require(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, floats * sizeof(float), values, 0, nullptr, nullptr),
          "copying from the device");
}

// Freed with the run, whatever happens.
struct Buffer {
  cl_mem memory;
  Buffer(std::size_t floats, const float* values) : memory(allocate(floats, values)) {}
  ~Buffer() { clReleaseMemObject(memory); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
};

} // namespace

Device open(Choice choice) {
  device_id = find(choice);
  cl_int status = CL_SUCCESS;
  context = clCreateContext(nullptr, 1, &device_id, nullptr, nullptr, &status);
  require(status, "opening the device");
  queue = clCreateCommandQueue(context, device_id, 0, &status);
  require(status, "creating a queue");
  Device found;
  found.name = text_of(device_id, CL_DEVICE_NAME);
  cl_platform_id platform = nullptr;
  clGetDeviceInfo(device_id, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr);
  char name[256] = "";
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, nullptr);
  found.platform = name;
  cl_device_type type = 0;
  clGetDeviceInfo(device_id, CL_DEVICE_TYPE, sizeof type, &type, nullptr);
  found.is_gpu = type & CL_DEVICE_TYPE_GPU;
  clGetDeviceInfo(device_id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof found.largest_group, &found.largest_group,
                  nullptr);
  return found;
}

bool compile(const std::string& source) {
  const std::string counted = with_counts(source);
  for (const Order order : {Order::as_it_comes, Order::backwards, Order::counted}) {
    cl_int status = CL_SUCCESS;
    const char* text[] = {order == Order::backwards ? backwards : "",
                          order == Order::counted ? counted.c_str() : source.c_str()};
    cl_program program = clCreateProgramWithSource(context, 2, text, nullptr, &status);
    require(status, "reading the kernels");
    programs[static_cast<int>(order)] = program;
    if (clBuildProgram(program, 1, &device_id, "-cl-std=CL1.2", nullptr, nullptr) == CL_SUCCESS) continue;
    if (order == Order::counted) return false;
    std::size_t size = 0;
    clGetProgramBuildInfo(program, device_id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    clGetProgramBuildInfo(program, device_id, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    throw BuildError(log.c_str());
  }
  return true;
}

Ran run(void (*reduce)(Run&), std::vector<float>& input, float before, std::size_t group, Order order) {
  const Buffer data(input.size(), input.data()), result(1, &before);
  Run one(data.memory, result.memory, input.size(), group);
  order_of_run = order;
  const std::vector<float> zeros(order == Order::counted ? most_items : 1); // all bits 0
  const Buffer uses(zeros.size(), zeros.data());
  uses_of_run = uses.memory;
  reduce(one);
  require(clFinish(queue), "the kernel stopped");
  Ran ran{0, one.groups_of_first_launch()};
  read_back(result.memory, &ran.result, 1);
  read_back(data.memory, input.data(), input.size());
  if (order == Order::counted) {
    ran.uses.resize(most_items);
    require(clEnqueueReadBuffer(queue, uses.memory, CL_TRUE, 0, most_items * sizeof(unsigned),
                                ran.uses.data(), 0, nullptr, nullptr),
            "copying from the device");
  }
  return ran;
}

Run::~Run() {
  for (int i = 0; i < scratch_count_; ++i) clReleaseMemObject(scratch_[i]);
}

cl_mem Run::scratch(std::size_t floats) {
  if (scratch_count_ == static_cast<int>(std::size(scratch_)))
    throw Error("a run may ask for scratch memory at most four times");
  return scratch_[scratch_count_++] = allocate(floats, nullptr);
}

void Run::launch(const char* name, std::size_t groups, std::initializer_list<Argument> arguments) {
  cl_int status = CL_SUCCESS;
  if (first_groups_ == 0) first_groups_ = groups;
  cl_kernel kernel = clCreateKernel(programs[static_cast<int>(order_of_run)], name, &status);
  require(status, fmt::format("the .cl file has no kernel {}", name));
  cl_uint index = 0;
  if (order_of_run == Order::counted)
    status = clSetKernelArg(kernel, index++, sizeof uses_of_run, &uses_of_run);
  for (const Argument& argument : arguments) {
    if (const auto* memory = std::get_if<cl_mem>(&argument)) {
      status = clSetKernelArg(kernel, index++, sizeof *memory, memory);
    } else if (const auto* number = std::get_if<cl_ulong>(&argument)) {
      status = clSetKernelArg(kernel, index++, sizeof *number, number);
    } else {
      status = clSetKernelArg(kernel, index++, std::get<Local>(argument).floats * sizeof(float), nullptr);
    }
    if (status != CL_SUCCESS) break;
  }
  const std::size_t items = groups * group;
  if (status == CL_SUCCESS) {
    status = clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr);
  }
  clReleaseKernel(kernel);
  require(status, fmt::format("launching {} with {} work-groups of {}", name, groups, group));
}

} // namespace lab::opencl
