// CUDA arrays, texture and surface objects: what can be created, copied and asked for, and what is refused.
#include "show.hpp"

#include <cstring>
#include <vector>

constexpr size_t width = 8, height = 4, depth = 3;

void allocate() {
  cudaChannelFormatDesc one = cudaCreateChannelDesc<float>(),
                        three = {32, 32, 32, 0, cudaChannelFormatKindFloat};
  cudaArray_t array = nullptr;
  SHOW(cudaMallocArray(&array, &one, width, height, cudaArraySurfaceLoadStore));
  cudaChannelFormatDesc channels = {};
  cudaExtent extent = {};
  unsigned flags = 0;
  SHOW(cudaArrayGetInfo(&channels, &extent, &flags, array));
  SHOW_VALUE(channels.x);
  SHOW_VALUE(channels.y);
  SHOW_VALUE(extent.width);
  SHOW_VALUE(extent.height);
  SHOW_VALUE(extent.depth);
  SHOW_VALUE(flags);
  SHOW(cudaGetChannelDesc(&channels, array));
  SHOW_VALUE(channels.f);
  SHOW(cudaFreeArray(array));
  SHOW(cudaFreeArray(array));
  SHOW(cudaFreeArray(nullptr));
  SHOW(cudaMallocArray(&array, &three, width, height));
  SHOW(cudaMallocArray(&array, &one, 0, height));
  SHOW(cudaMalloc3DArray(&array, &one, make_cudaExtent(8, 8, 5), cudaArrayCubemap));
  SHOW(cudaMalloc3DArray(&array, &one, make_cudaExtent(8, 0, 5), cudaArrayLayered));
  SHOW(cudaFreeArray(array));
  SHOW(cudaMalloc3DArray(&array, &one, make_cudaExtent(1 << 20, 8, 0)));
  SHOW(cudaMalloc3DArray(&array, &one, make_cudaExtent(8, 8, 8), cudaArraySparse));
}

bool same(const std::vector<int>& a, const std::vector<int>& b) {
  return a == b;
}

void copy_rows() {
  std::vector<int> numbers(width * height), back(width * height);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i);
  const cudaChannelFormatDesc one = cudaCreateChannelDesc<int>();
  cudaArray_t array = nullptr, other = nullptr;
  cudaMallocArray(&array, &one, width, height);
  cudaMallocArray(&other, &one, width, height);
  const size_t row = width * sizeof(int);
  SHOW(cudaMemcpy2DToArray(array, 0, 0, numbers.data(), row, row, height, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, row, height));
  SHOW(cudaMemcpy2DFromArray(back.data(), row, other, 0, 0, row, height, cudaMemcpyDeviceToHost));
  SHOW_VALUE(same(numbers, back));
  SHOW(cudaMemcpy2DToArray(array, 4, 3, numbers.data(), row, 8, 1, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy2DFromArray(back.data(), row, array, 0, 3, row, 1, cudaMemcpyDeviceToHost));
  SHOW_VALUE(back[0]);
  SHOW_VALUE(back[1]);
  SHOW_VALUE(back[2]);
  SHOW_VALUE(back[3]);
  SHOW(cudaMemcpy2DToArray(array, 4, 0, numbers.data(), row, row, 1, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy2DToArray(array, 0, 3, numbers.data(), row, row, 2, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy2DToArray(array, 0, 0, numbers.data(), 16, row, 2, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy2DToArrayAsync(array, 0, 0, numbers.data(), row, row, height, cudaMemcpyHostToDevice,
                                nullptr));
  SHOW(cudaMemcpy2DFromArrayAsync(back.data(), row, array, 0, 0, row, height, cudaMemcpyDeviceToHost,
                                  nullptr));
  SHOW(cudaDeviceSynchronize());
  SHOW_VALUE(same(numbers, back));
  cudaFreeArray(array);
  cudaFreeArray(other);
}

void copy_slices() {
  std::vector<int> numbers(width * height * depth), back(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i);
  const cudaChannelFormatDesc one = cudaCreateChannelDesc<int>();
  cudaArray_t array = nullptr;
  cudaMalloc3DArray(&array, &one, make_cudaExtent(width, height, depth));
  cudaMemcpy3DParms to = {}, from = {};
  to.srcPtr = make_cudaPitchedPtr(numbers.data(), width * sizeof(int), width, height);
  to.dstArray = array, to.extent = make_cudaExtent(width, height, depth), to.kind = cudaMemcpyHostToDevice;
  SHOW(cudaMemcpy3D(&to));
  from.srcArray = array, from.srcPos = make_cudaPos(2, 1, 1), from.extent = make_cudaExtent(3, 2, 2);
  from.dstPtr = make_cudaPitchedPtr(back.data(), 3 * sizeof(int), 3, 2), from.kind = cudaMemcpyDeviceToHost;
  SHOW(cudaMemcpy3DAsync(&from));
  SHOW(cudaDeviceSynchronize());
  SHOW_VALUE(back[0] - numbers[(1 * height + 1) * width + 2]);
  SHOW_VALUE(back[11] - numbers[(2 * height + 2) * width + 4]);
  from.extent.depth = depth;
  SHOW(cudaMemcpy3D(&from));
  cudaFreeArray(array);
}

void create_objects() {
  const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>(),
                              bytes = cudaCreateChannelDesc<uchar4>(),
                              integers = cudaCreateChannelDesc<int>();
  cudaArray_t of_floats = nullptr, of_bytes = nullptr, of_integers = nullptr;
  cudaMallocArray(&of_floats, &floats, width, height);
  cudaMallocArray(&of_bytes, &bytes, width, height, cudaArraySurfaceLoadStore);
  cudaMallocArray(&of_integers, &integers, width, height);
  cudaResourceDesc resource = {}, asked = {};
  resource.resType = cudaResourceTypeArray, resource.res.array.array = of_floats;
  cudaTextureDesc description = {}, known = {};
  description.filterMode = cudaFilterModeLinear;
  cudaTextureObject_t texture = 0;
  cudaSurfaceObject_t surface = 0;
  SHOW(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  SHOW(cudaGetTextureObjectResourceDesc(&asked, texture));
  SHOW_VALUE(asked.res.array.array == of_floats);
  SHOW(cudaGetTextureObjectTextureDesc(&known, texture));
  SHOW_VALUE(known.filterMode);
  SHOW(cudaDestroySurfaceObject(texture));
  SHOW(cudaDestroyTextureObject(texture));
  SHOW(cudaDestroyTextureObject(texture));
  SHOW(cudaCreateSurfaceObject(&surface, &resource));
  resource.res.array.array = of_bytes;
  SHOW(cudaCreateSurfaceObject(&surface, &resource));
  SHOW(cudaGetSurfaceObjectResourceDesc(&asked, surface));
  SHOW(cudaDestroySurfaceObject(surface));
  SHOW(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  description.readMode = cudaReadModeNormalizedFloat;
  SHOW(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  resource.res.array.array = of_integers;
  SHOW(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  description.filterMode = cudaFilterModePoint;
  SHOW(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  float* memory = nullptr;
  cudaMalloc(&memory, 4096);
  description = {};
  resource = {};
  resource.resType = cudaResourceTypePitch2D, resource.res.pitch2D.devPtr = memory;
  resource.res.pitch2D.desc = floats, resource.res.pitch2D.width = width,
  resource.res.pitch2D.height = height;
  resource.res.pitch2D.pitchInBytes = 48;
  SHOW(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  resource.res.pitch2D.pitchInBytes = 64;
  SHOW(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  resource = {};
  resource.resType = cudaResourceTypeLinear, resource.res.linear.devPtr = memory;
  resource.res.linear.desc = floats, resource.res.linear.sizeInBytes = 4096;
  SHOW(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  resource.res.linear.sizeInBytes = 8192;
  SHOW(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  cudaFree(memory);
}

void mipmaps() {
  const cudaChannelFormatDesc one = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t array = nullptr;
  cudaArray_t level = nullptr;
  SHOW(cudaMallocMipmappedArray(&array, &one, make_cudaExtent(16, 4, 0), 9));
  SHOW(cudaGetMipmappedArrayLevel(&level, array, 4));
  cudaExtent extent = {};
  SHOW(cudaArrayGetInfo(nullptr, &extent, nullptr, level));
  SHOW_VALUE(extent.width);
  SHOW_VALUE(extent.height);
  SHOW(cudaGetMipmappedArrayLevel(&level, array, 5));
  SHOW(cudaFreeMipmappedArray(array));
}

int main() {
  allocate();
  copy_rows();
  copy_slices();
  create_objects();
  mipmaps();
}
