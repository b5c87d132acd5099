// Textures and surfaces used wrongly. The argument names the case; the program prints the error it ends with.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

__global__ void store(cudaSurfaceObject_t to, int width) {
  surf2Dwrite(1.0f, to, threadIdx.x * 4, blockIdx.x); // store
  if (threadIdx.x >= width) surf2Dwrite(2.0f, to, 0, 0, cudaBoundaryModeZero);
}

__global__ void store_elements(cudaSurfaceObject_t to) {
  surf2Dwrite(1.0f, to, threadIdx.x, blockIdx.x); // not bytes
}

__global__ void load_volume(cudaSurfaceObject_t from, float* to) {
  to[threadIdx.x] = surf3Dread<float>(from, threadIdx.x * 4, 0, 7); // load
}

__global__ void fetch(cudaTextureObject_t from, float* to) {
  to[threadIdx.x] = tex2D<float>(from, threadIdx.x, 0); // fetch
}

__global__ void fetch_volume(cudaTextureObject_t from, float* to) {
  to[threadIdx.x] = tex3D<float>(from, threadIdx.x, 0, 0); // fetch a volume
}

__global__ void store_and_load(cudaSurfaceObject_t both, float* to) {
  surf2Dwrite(1.0f, both, threadIdx.x * 4, 0);                          // first
  to[threadIdx.x] = surf2Dread<float>(both, (threadIdx.x ^ 32) * 4, 0); // second
}

int main(int count, char** arguments) {
  const auto is = [&](const char* name) { return count > 1 && std::strcmp(arguments[1], name) == 0; };
  const cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
  cudaArray_t plane = nullptr, volume = nullptr;
  cudaMallocArray(&plane, &channels, 64, 4, cudaArraySurfaceLoadStore);
  cudaMalloc3DArray(&volume, &channels, {64, 4, 7}, cudaArraySurfaceLoadStore);
  float* results = nullptr;
  cudaMalloc(&results, 128 * sizeof(float));
  cudaResourceDesc of_plane = {}, of_volume = {};
  of_plane.res.array.array = plane, of_volume.res.array.array = volume;
  cudaSurfaceObject_t surface = 0, deep_surface = 0;
  cudaCreateSurfaceObject(&surface, &of_plane);
  cudaCreateSurfaceObject(&deep_surface, &of_volume);
  const cudaTextureDesc description = {};
  cudaTextureObject_t texture = 0;
  cudaCreateTextureObject(&texture, &of_plane, &description, nullptr);
  if (is("right") || is("unwritten")) {
    if (is("right")) store<<<4, 64>>>(surface, 64);
    fetch<<<1, 64>>>(texture, results);
  }
  if (is("too_wide")) store<<<1, 65>>>(surface, 64);
  if (is("too_high")) store<<<5, 64>>>(surface, 64);
  if (is("too_deep")) load_volume<<<1, 64>>>(deep_surface, results);
  if (is("elements")) store_elements<<<1, 32>>>(surface);
  if (is("race")) {
    store<<<4, 64>>>(surface, 64);
    store_and_load<<<1, 64>>>(surface, results);
  }
  if (is("destroyed")) {
    cudaDestroyTextureObject(texture);
    fetch<<<1, 32>>>(texture, results);
  }
  if (is("swapped")) fetch<<<1, 32>>>(surface, results);
  if (is("misfit")) fetch_volume<<<1, 32>>>(texture, results);
  if (is("freed")) {
    cudaFreeArray(plane);
    fetch<<<1, 32>>>(texture, results);
  }
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
