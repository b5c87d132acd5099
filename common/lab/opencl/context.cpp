#include "opencl/context.hpp"

#include "opencl/counted.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <utility>

namespace lab::opencl {
namespace {

cl_device_id device_id;
cl_context context;
cl_command_queue queue;
cl_program programs[4]; // by Order
cl_mem uses_of_run;     // if items count: by global id
constexpr std::size_t most_items = std::size_t{1} << 17, most_scratch = 4;
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

void read_back(cl_mem memory, float* values, std::size_t floats) {
  if (floats == 0) return;
  require(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, floats * sizeof(float), values, 0, nullptr, nullptr),
          "copying from the device");
}

// Unwritten memory holds NaN, so that a result shows if it was used; and each array lies between margins of
// NaN, which show what is written beside it. The margins' size is a multiple of any device's alignment.
constexpr std::uint32_t unwritten = 0x7fc5a5a5;
constexpr std::size_t margin = 4096;

std::vector<float> unwritten_floats(std::size_t count) {
  return std::vector<float>(count, std::bit_cast<float>(unwritten));
}

// Device memory of one run, between margins; freed with the run, whatever happens.
class Buffer {
public:
  Buffer(std::string name, std::size_t floats, const float* values)
      : name_(std::move(name)), floats_(floats) {
    floats = std::max<std::size_t>(floats, 1); // OpenCL has no empty buffers
    std::vector<float> all = unwritten_floats(floats + 2 * margin);
    if (values) std::copy_n(values, floats_, all.begin() + margin);
    cl_int status = CL_SUCCESS;
    const std::size_t bytes = all.size() * sizeof(float);
    whole_ = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &status);
    require(status, fmt::format("allocating {} bytes", bytes));
    const cl_buffer_region inner{margin * sizeof(float), floats * sizeof(float)};
    memory = clCreateSubBuffer(whole_, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &inner, &status);
    require(status, "creating an array between margins");
    require(clEnqueueWriteBuffer(queue, whole_, CL_TRUE, 0, bytes, all.data(), 0, nullptr, nullptr),
            "copying to the device");
  }
  ~Buffer() {
    if (memory) clReleaseMemObject(memory);
    if (whole_) clReleaseMemObject(whole_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // "" or where something was written beside it: "element 257 of input, which has 257".
  std::string damage() const {
    std::vector<float> all(std::max<std::size_t>(floats_, 1) + 2 * margin);
    read_back(whole_, all.data(), all.size());
    const auto is_new = [](float value) { return std::bit_cast<std::uint32_t>(value) != unwritten; };
    const auto begin = all.begin(), inner = begin + margin,
               end = inner + static_cast<std::ptrdiff_t>(floats_);
    if (const auto after = std::find_if(end, all.end(), is_new); after != all.end())
      return fmt::format("element {} of {}, which has {}", after - inner, name_, floats_);
    if (const auto before = std::find_if(begin, inner, is_new); before != inner)
      return fmt::format("{} elements before {} begins", inner - before, name_);
    return "";
  }

  cl_mem memory = nullptr;

private:
  cl_mem whole_ = nullptr;
  std::string name_;
  std::size_t floats_;
};

std::vector<std::unique_ptr<Buffer>> scratch_of_run;

// Local memory holds what an earlier group left there, often zeros. This kernel leaves NaN.
cl_kernel spoil_local;
std::size_t local_floats;
constexpr const char* spoiling = "kernel void spoil_local(local uint* all, ulong count, uint with) {\n"
                                 "  for (ulong i = get_local_id(0); i < count; i += get_local_size(0)) "
                                 "all[i] = with;\n"
                                 "}\n";

void compile_spoiling() {
  cl_ulong bytes = 0;
  clGetDeviceInfo(device_id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof bytes, &bytes, nullptr);
  local_floats = std::min<std::size_t>(bytes, 32768) / sizeof(float);
  cl_int status = CL_SUCCESS;
  const char* text = spoiling;
  cl_program program = clCreateProgramWithSource(context, 1, &text, nullptr, &status);
  if (status != CL_SUCCESS || clBuildProgram(program, 1, &device_id, "", nullptr, nullptr) != CL_SUCCESS)
    return; // then less is found
  spoil_local = clCreateKernel(program, "spoil_local", &status);
}

void leave_rubbish_in_local_memory() {
  if (!spoil_local) return;
  const cl_ulong count = local_floats;
  const std::size_t group = 1, groups = 16; // so that each of the device's compute units gets some
  clSetKernelArg(spoil_local, 0, local_floats * sizeof(float), nullptr);
  clSetKernelArg(spoil_local, 1, sizeof count, &count);
  clSetKernelArg(spoil_local, 2, sizeof unwritten, &unwritten);
  clEnqueueNDRangeKernel(queue, spoil_local, 1, nullptr, &groups, &group, 0, nullptr, nullptr);
}

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
  compile_spoiling();
  return found;
}

Countable compile(const std::string& source) {
  const std::string counted = with_counts(source), barriers = with_barriers_counted(source);
  Countable can;
  for (const Order order : {Order::as_it_comes, Order::backwards, Order::counted, Order::barriers}) {
    cl_int status = CL_SUCCESS;
    const char* text[] = {order == Order::backwards ? backwards : "",
                          order == Order::counted    ? counted.c_str()
                          : order == Order::barriers ? barriers.c_str()
                                                     : source.c_str()};
    cl_program program = clCreateProgramWithSource(context, 2, text, nullptr, &status);
    require(status, "reading the kernels");
    programs[static_cast<int>(order)] = program;
    const bool builds =
        clBuildProgram(program, 1, &device_id, "-cl-std=CL1.2", nullptr, nullptr) == CL_SUCCESS;
    if (order == Order::counted) can.uses = builds;
    if (order == Order::barriers) can.barriers = builds;
    if (builds || order == Order::counted || order == Order::barriers) continue;
    std::size_t size = 0;
    clGetProgramBuildInfo(program, device_id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    clGetProgramBuildInfo(program, device_id, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    throw BuildError(log.c_str());
  }
  return can;
}

Ran run(void (*reduce)(Run&), std::vector<float>& input, float before, std::size_t group, Order order) {
  scratch_of_run.clear();
  const Buffer data("input", input.size(), input.data()), result("result", 1, &before);
  Run one(data.memory, result.memory, input.size(), group);
  order_of_run = order;
  const bool counts = order == Order::counted || order == Order::barriers;
  const std::vector<float> zeros(counts ? most_items : 1); // all bits 0
  const Buffer uses("uses", zeros.size(), zeros.data());
  uses_of_run = uses.memory;
  reduce(one);
  require(clFinish(queue), "the kernel stopped");
  Ran ran;
  ran.groups = one.groups_of_first_launch();
  read_back(result.memory, &ran.result, 1);
  read_back(data.memory, input.data(), input.size());
  for (const Buffer* buffer : {&data, &result})
    if (ran.damage.empty()) ran.damage = buffer->damage();
  for (const auto& buffer : scratch_of_run)
    if (ran.damage.empty()) ran.damage = buffer->damage();
  scratch_of_run.clear();
  ran.shares_local = one.shares_local();
  if (counts) {
    ran.uses.resize(most_items);
    require(clEnqueueReadBuffer(queue, uses.memory, CL_TRUE, 0, most_items * sizeof(unsigned),
                                ran.uses.data(), 0, nullptr, nullptr),
            "copying from the device");
  }
  return ran;
}

cl_mem Run::scratch(std::size_t floats) {
  if (scratch_of_run.size() == most_scratch)
    throw Error("a run may ask for scratch memory at most four times");
  scratch_of_run.push_back(
      std::make_unique<Buffer>(fmt::format("scratch {}", scratch_of_run.size() + 1), floats, nullptr));
  return scratch_of_run.back()->memory;
}

void Run::launch(const char* name, std::size_t groups, std::initializer_list<Argument> arguments) {
  cl_int status = CL_SUCCESS;
  if (first_groups_ == 0) first_groups_ = groups;
  cl_kernel kernel = clCreateKernel(programs[static_cast<int>(order_of_run)], name, &status);
  require(status, fmt::format("the .cl file has no kernel {}", name));
  cl_uint index = 0;
  if (order_of_run == Order::counted || order_of_run == Order::barriers)
    status = clSetKernelArg(kernel, index++, sizeof uses_of_run, &uses_of_run);
  for (const Argument& argument : arguments) {
    if (const auto* memory = std::get_if<cl_mem>(&argument)) {
      status = clSetKernelArg(kernel, index++, sizeof *memory, memory);
    } else if (const auto* number = std::get_if<cl_ulong>(&argument)) {
      status = clSetKernelArg(kernel, index++, sizeof *number, number);
    } else {
      shares_local_ = true;
      status = clSetKernelArg(kernel, index++, std::get<Local>(argument).floats * sizeof(float), nullptr);
    }
    if (status != CL_SUCCESS) break;
  }
  const std::size_t items = groups * group;
  leave_rubbish_in_local_memory();
  if (status == CL_SUCCESS) {
    status = clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr);
  }
  clReleaseKernel(kernel);
  require(status, fmt::format("launching {} with {} work-groups of {}", name, groups, group));
}

} // namespace lab::opencl
