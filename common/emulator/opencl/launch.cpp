// clEnqueueNDRangeKernel: the shape of a launch, and its arguments as the runtime takes them.
#include "built_ins.hpp"
#include "kernel.hpp"
#include "queue.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace warpfold::opencl {
namespace {

using Sizes = std::array<std::size_t, 3>;

struct Shape {
  Sizes groups{1, 1, 1}, group{1, 1, 1};
  _cl_program::LaunchValues values{}; // the offset and the number of dimensions
  bool has_offset() const { return values[0] || values[1] || values[2]; }
};

// The group that the driver chooses: as many items of the first dimensions as fit and divide them.
Sizes chosen_group(const Sizes& global, std::size_t most) {
  Sizes group{1, 1, 1};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (std::size_t size = std::min(global[axis], most); size > 1; --size)
      if (global[axis] % size == 0) {
        group[axis] = size;
        break;
      }
    most /= group[axis];
  }
  return group;
}

void check_group(const _cl_kernel& kernel, const _cl_device_id& device, const Sizes& global,
                 const Sizes& group) {
  const Sizes& required = kernel.source.required_group;
  require(!required[0] || group == required, CL_INVALID_WORK_GROUP_SIZE,
          fmt::format("{} is compiled for groups of {} x {} x {}", kernel.source.name, required[0],
                      required[1], required[2]));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    require(group[axis] > 0 && global[axis] % group[axis] == 0, CL_INVALID_WORK_GROUP_SIZE,
            fmt::format("{}: {} items are no multiple of the group's {}", kernel.source.name, global[axis],
                        group[axis]));
    require(group[axis] <= static_cast<std::size_t>(device.properties.maxThreadsDim[axis]),
            CL_INVALID_WORK_ITEM_SIZE);
    require(global[axis] / group[axis] <= static_cast<std::size_t>(device.properties.maxGridSize[axis]),
            CL_OUT_OF_RESOURCES, "more groups than the device's grid has room for in a dimension");
  }
  const std::size_t items = group[0] * group[1] * group[2];
  require(items <= static_cast<std::size_t>(device.properties.maxThreadsPerBlock), CL_INVALID_WORK_GROUP_SIZE,
          fmt::format("{}: a group of {} items, and {} is the most", kernel.source.name, items,
                      device.properties.maxThreadsPerBlock));
}

Shape checked_shape(const _cl_kernel& kernel, const _cl_device_id& device, cl_uint dimensions,
                    const std::size_t* offset, const std::size_t* global, const std::size_t* local) {
  require(dimensions >= 1 && dimensions <= 3, CL_INVALID_WORK_DIMENSION);
  require(global != nullptr, CL_INVALID_GLOBAL_WORK_SIZE);
  Shape shape;
  shape.values[3] = dimensions;
  Sizes items{1, 1, 1};
  for (std::size_t axis = 0; axis < dimensions; ++axis) {
    require(global[axis] > 0, CL_INVALID_GLOBAL_WORK_SIZE, "a dimension has no items");
    items[axis] = global[axis];
    if (offset) shape.values[axis] = offset[axis];
    require(items[axis] + shape.values[axis] >= items[axis], CL_INVALID_GLOBAL_OFFSET);
    if (local) shape.group[axis] = local[axis];
  }
  constexpr std::size_t usual_items = 256;
  require(local || !kernel.source.required_group[0], CL_INVALID_WORK_GROUP_SIZE,
          "a kernel with reqd_work_group_size needs that size as its local size");
  if (!local) shape.group = chosen_group(items, usual_items);
  check_group(kernel, device, items, shape.group);
  for (std::size_t axis = 0; axis < 3; ++axis) shape.groups[axis] = items[axis] / shape.group[axis];
  return shape;
}

// The arguments of one launch. Local memory lies behind the kernel's own, and a pointer to it is its offset
// there.
struct Arguments {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<Ref<_cl_mem>> held;
  std::size_t dynamic_shared = 0;
};

// An element's size divides that of the array, and nothing is aligned more than the largest vector.
std::size_t alignment_of_array(std::size_t bytes) {
  return std::min(base_alignment, bytes & (~bytes + 1));
}

template <typename T>
std::vector<std::byte> bytes_of(const T& value) {
  const auto* const first = reinterpret_cast<const std::byte*>(&value);
  return {first, first + sizeof value};
}

Arguments arguments_for(const _cl_kernel& kernel, cudaKernel_t code) {
  cudaFuncAttributes attributes{};
  require_cuda(cudaFuncGetAttributes(&attributes, code));
  std::size_t end = attributes.sharedSizeBytes;
  Arguments arguments;
  for (std::size_t i = 0; i < kernel.values.size(); ++i) {
    require(kernel.values[i].has_value(), CL_INVALID_KERNEL_ARGS,
            fmt::format("{}: the argument {} has not been set", kernel.source.name,
                        kernel.source.arguments[i].name));
    const Value& value = *kernel.values[i];
    if (value.memory) {
      arguments.bytes.push_back(bytes_of(value.memory->address));
      arguments.held.push_back(value.memory);
    } else if (value.local_bytes) {
      const std::size_t alignment = alignment_of_array(value.local_bytes);
      const std::size_t begin = (end + alignment - 1) / alignment * alignment;
      arguments.bytes.push_back(bytes_of(std::uint64_t{begin}));
      end = begin + value.local_bytes;
    } else {
      arguments.bytes.push_back(value.bytes);
    }
  }
  arguments.dynamic_shared = end - attributes.sharedSizeBytes;
  const auto most = static_cast<std::size_t>(attributes.maxDynamicSharedSizeBytes);
  require(arguments.dynamic_shared <= most, CL_OUT_OF_RESOURCES,
          fmt::format("{}: its local arguments take {} bytes, and {} are left beside its own {}",
                      kernel.source.name, arguments.dynamic_shared, most, attributes.sharedSizeBytes));
  return arguments;
}

// Sets the variable that ids are computed with. Launches that use other values may still run, so this waits
// for them.
void set_launch_values(_cl_program& program, const _cl_device_id& device,
                       const _cl_program::LaunchValues& values) {
  const auto known = program.values_on_device.find(device.number);
  if (known != program.values_on_device.end() && known->second == values) return;
  void* variable = nullptr;
  std::size_t size = 0;
  require_cuda(cudaLibraryGetGlobal(&variable, &size, program.with_values, launch_values_name));
  require_cuda(cudaDeviceSynchronize());
  require_cuda(cudaMemcpy(variable, values.data(), sizeof values, cudaMemcpyHostToDevice));
  program.values_on_device[device.number] = values;
}

dim3 extent(const Sizes& sizes) {
  return {static_cast<unsigned>(sizes[0]), static_cast<unsigned>(sizes[1]), static_cast<unsigned>(sizes[2])};
}

void launch(const Enqueue& to, cl_command_type type, cl_kernel handle, cl_uint dimensions,
            const std::size_t* offset, const std::size_t* global, const std::size_t* local) {
  const _cl_command_queue& queue = checked_queue(to.queue);
  _cl_kernel& kernel = checked(handle, CL_INVALID_KERNEL);
  require(kernel.program->context.get() == queue.context.get(), CL_INVALID_CONTEXT,
          "the kernel and the queue are of different contexts");
  const Shape shape = checked_shape(kernel, *queue.device, dimensions, offset, global, local);
  const OnDevice current(queue.device->number);
  const bool uses_values = !kernel.plain || shape.has_offset();
  cudaKernel_t code = kernel.plain;
  if (uses_values)
    require_cuda(
        cudaLibraryGetKernel(&code, kernel.program->library_with_values(), kernel.source.name.c_str()));
  const Arguments arguments = arguments_for(kernel, code);
  enqueue(to, type, false, [=, device = queue.device, program = kernel.program](cudaStream_t stream) {
    if (uses_values) set_launch_values(*program, *device, shape.values);
    std::vector<void*> pointers;
    for (const auto& bytes : arguments.bytes) pointers.push_back(const_cast<std::byte*>(bytes.data()));
    require_cuda(cudaLaunchKernel(code, extent(shape.groups), extent(shape.group), pointers.data(),
                                  arguments.dynamic_shared, stream));
  });
}

} // namespace
} // namespace warpfold::opencl

using namespace warpfold::opencl;

extern "C" {

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t* offset, const size_t* global, const size_t* local, cl_uint count,
                              const cl_event* list, cl_event* event) {
  return status("clEnqueueNDRangeKernel", [&] {
    launch({queue, count, list, event}, CL_COMMAND_NDRANGE_KERNEL, kernel, dimensions, offset, global, local);
  });
}

cl_int clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event* list,
                     cl_event* event) {
  return status("clEnqueueTask", [&] {
    const std::size_t one = 1;
    launch({queue, count, list, event}, CL_COMMAND_TASK, kernel, 1, nullptr, &one, &one);
  });
}

cl_int clEnqueueNativeKernel(cl_command_queue queue, void (*)(void*), void*, size_t, cl_uint, const cl_mem*,
                             const void**, cl_uint, const cl_event*, cl_event*) {
  return status("clEnqueueNativeKernel", [&] {
    checked_queue(queue);
    throw Refusal(CL_INVALID_OPERATION, "the device runs no functions of the host");
  });
}
}
