// Fetches from textures of every kind, at places inside, outside and on the border between texels. A line is
// a case and a hash of the bits of all results. The hashes were taken from the emulator when its fetches
// agreed with an H100's (docs/reference/emulator.md); textures_test.cpp has single results of the H100's.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <vector>

constexpr int fetches = 2048;
enum Kind { row, plane, volume, rows, planes, cube, cubes, gather, level };
const char* const kinds[] = {"1D",   "2D",           "3D",     "layered 1D", "layered 2D",
                             "cube", "layered cube", "gather", "level"};
const char* const modes[] = {"wrap", "clamp", "mirror", "border"};

__device__ float4 fetch(cudaTextureObject_t from, Kind kind, float4 at, int i) {
  switch (kind) {
  case row:
    return tex1D<float4>(from, at.x);
  case plane:
    return tex2D<float4>(from, at.x, at.y);
  case volume:
    return tex3D<float4>(from, at.x, at.y, at.z);
  case rows:
    return tex1DLayered<float4>(from, at.x, i % 5 - 1);
  case planes:
    return tex2DLayered<float4>(from, at.x, at.y, i % 5 - 1);
  case cube:
    return texCubemap<float4>(from, at.x, at.y, at.z);
  case cubes:
    return texCubemapLayered<float4>(from, at.x, at.y, at.z, i % 3);
  case level:
    return tex2DLod<float4>(from, at.x, at.y, at.w);
  default:
    break;
  }
  switch (i % 4) {
  case 0:
    return tex2Dgather<float4>(from, at.x, at.y, 0);
  case 1:
    return tex2Dgather<float4>(from, at.x, at.y, 1);
  case 2:
    return tex2Dgather<float4>(from, at.x, at.y, 2);
  default:
    return tex2Dgather<float4>(from, at.x, at.y, 3);
  }
}

__global__ void fetch_all(cudaTextureObject_t from, Kind kind, const float4* places, float4* results) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  results[i] = fetch(from, kind, places[i], i);
}

__global__ void fetch_integers(cudaTextureObject_t from, const float4* places, int4* results) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  results[i] = tex2D<int4>(from, places[i].x, places[i].y);
}

__global__ void fetch_elements(cudaTextureObject_t from, float4* results) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  results[i] = tex1Dfetch<float4>(from, i - 100);
}

unsigned seed = 1;
float random_number() {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) / 16777216.0f;
}

// From less than 0 to more than the size; every other place at a whole number of halves of a 256th.
float4* places(const float (&sizes)[3], bool normalized) {
  static float4* memory = nullptr;
  if (!memory) cudaMalloc(&memory, fetches * sizeof(float4));
  std::vector<float4> all(fetches);
  for (int i = 0; i < fetches; ++i) {
    float at[3];
    for (int axis = 0; axis < 3; ++axis) {
      at[axis] = (random_number() * 2.6f - 0.8f) * sizes[axis];
      if (i % 2 == 0) at[axis] = std::floor(at[axis] * 512) / 512;
      if (i % 8 == 0) at[axis] = std::floor(at[axis]);
      if (normalized) at[axis] /= sizes[axis];
    }
    if (at[0] == 0 && at[1] == 0 && at[2] == 0) at[0] = 1; // a cubemap needs a direction
    all[i] = make_float4(at[0], at[1], at[2], random_number() * 4 - 0.5f);
  }
  cudaMemcpy(memory, all.data(), fetches * sizeof(float4), cudaMemcpyHostToDevice);
  return memory;
}

float4* results() {
  static float4* memory = nullptr;
  if (!memory) cudaMalloc(&memory, fetches * sizeof(float4));
  return memory;
}

void show(const char* text) {
  std::vector<std::uint32_t> bits(fetches * 4);
  const cudaError_t error =
      cudaMemcpy(bits.data(), results(), fetches * sizeof(float4), cudaMemcpyDeviceToHost);
  std::uint32_t hash = 2166136261u;
  for (const std::uint32_t word : bits) hash = (hash ^ word) * 16777619u;
  std::printf("%s: %08x%s\n", text, hash, error ? cudaGetErrorName(error) : "");
}

struct Array {
  cudaArray_t array = nullptr;
  Array(const cudaChannelFormatDesc& channels, cudaExtent size, unsigned flags) {
    cudaMalloc3DArray(&array, &channels, size, flags);
    const size_t bytes = (channels.x + channels.y + channels.z + channels.w) / 8;
    size.height = size.height ? size.height : 1, size.depth = size.depth ? size.depth : 1;
    std::vector<unsigned char> data(bytes * size.width * size.height * size.depth);
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(random_number() * 256);
    if (channels.f == cudaChannelFormatKindFloat && channels.x == 32)
      for (size_t i = 0; i < data.size(); i += 4) {
        const float value = random_number() * 8 - 4;
        std::memcpy(&data[i], &value, 4);
      }
    if (channels.x == 16)
      for (size_t i = 1; i < data.size(); i += 2) data[i] &= 0xbf; // no infinite halves
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(data.data(), size.width * bytes, size.width, size.height);
    copy.dstArray = array, copy.extent = size, copy.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3D(&copy);
  }
  ~Array() { cudaFreeArray(array); }
  cudaResourceDesc resource() const {
    cudaResourceDesc description = {};
    description.resType = cudaResourceTypeArray, description.res.array.array = array;
    return description;
  }
};

cudaTextureDesc sampler(int mode, bool linear, bool normalized, bool floats = false) {
  cudaTextureDesc description = {};
  for (cudaTextureAddressMode& each : description.addressMode)
    each = static_cast<cudaTextureAddressMode>(mode);
  description.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
  description.readMode = floats ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
  description.normalizedCoords = normalized;
  const float border[] = {0.25f, -2, 3, 0.7f};
  std::memcpy(description.borderColor, border, sizeof border);
  return description;
}

void run(const char* text, Kind kind, const cudaResourceDesc& resource, const cudaTextureDesc& description,
         const float (&sizes)[3]) {
  cudaTextureObject_t texture = 0;
  const cudaError_t error = cudaCreateTextureObject(&texture, &resource, &description, nullptr);
  if (error) std::printf("%s\n", cudaGetErrorName(error));
  fetch_all<<<fetches / 256, 256>>>(texture, kind, places(sizes, description.normalizedCoords), results());
  show(text);
  cudaDestroyTextureObject(texture);
}

void every_mode(Kind kind, const cudaChannelFormatDesc& channels, cudaExtent size, unsigned flags) {
  const Array array(channels, size, flags);
  const bool faces = kind == cube || kind == cubes;
  const float sizes[3] = {faces ? 1 : float(size.width), faces ? 1 : float(size.height),
                          faces ? 1 : float(size.depth)};
  for (int normalized = faces; normalized < 2; ++normalized)
    for (int linear = 0; linear < 2; ++linear)
      for (int mode = 0; mode < 4; ++mode) {
        if ((!normalized && mode % 2 == 0) || (faces && mode != 1)) continue;
        char text[80];
        std::snprintf(text, sizeof text, "%s, %s, %s, %s", kinds[kind], modes[mode],
                      linear ? "linear" : "point", normalized ? "normalized" : "texels");
        run(text, kind, array.resource(), sampler(mode, linear, normalized), sizes);
      }
}

void every_format() {
  struct Format {
    const char* name;
    cudaChannelFormatDesc channels;
    bool is_float;
  } const formats[] = {{"uchar4", cudaCreateChannelDesc<uchar4>(), false},
                       {"short2", cudaCreateChannelDesc<short2>(), false},
                       {"ushort1", cudaCreateChannelDesc<ushort1>(), false},
                       {"char4", cudaCreateChannelDesc<char4>(), false},
                       {"half4", cudaCreateChannelDescHalf4(), true},
                       {"int2", cudaCreateChannelDesc<int2>(), false}};
  const float sizes[] = {13, 7, 1};
  for (const Format& format : formats) {
    const Array array(format.channels, {13, 7, 0}, 0);
    char text[80];
    for (int linear = 0; linear < 2; ++linear) {
      if (format.channels.x == 32 ||
          (linear && format.channels.x == 8 && format.channels.f == cudaChannelFormatKindSigned))
        continue;
      std::snprintf(text, sizeof text, "%s, %s", format.name, linear ? "linear" : "point");
      run(text, plane, array.resource(), sampler(cudaAddressModeBorder, linear, false, !format.is_float),
          sizes);
    }
    if (format.is_float) continue;
    cudaTextureObject_t texture = 0;
    const cudaResourceDesc resource = array.resource();
    const cudaTextureDesc description = sampler(cudaAddressModeBorder, false, false);
    cudaCreateTextureObject(&texture, &resource, &description, nullptr);
    fetch_integers<<<fetches / 256, 256>>>(texture, places(sizes, false), reinterpret_cast<int4*>(results()));
    std::snprintf(text, sizeof text, "%s, integers", format.name);
    show(text);
    cudaDestroyTextureObject(texture);
  }
}

void linear_memory() {
  std::vector<float> numbers(1024);
  for (float& each : numbers) each = random_number();
  float* memory = nullptr;
  cudaMalloc(&memory, numbers.size() * sizeof(float));
  cudaMemcpy(memory, numbers.data(), numbers.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = memory, resource.res.linear.sizeInBytes = 4001;
  resource.res.linear.desc = cudaCreateChannelDesc<float2>();
  cudaTextureObject_t texture = 0;
  cudaTextureDesc description = {};
  cudaCreateTextureObject(&texture, &resource, &description, nullptr);
  fetch_elements<<<fetches / 256, 256>>>(texture, results());
  show("linear memory");
  cudaDestroyTextureObject(texture);
  resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = memory, resource.res.pitch2D.pitchInBytes = 64;
  resource.res.pitch2D.width = 11, resource.res.pitch2D.height = 7;
  resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
  run("pitched memory, point", plane, resource, sampler(cudaAddressModeClamp, false, false), {11, 7, 1});
  run("pitched memory, linear", plane, resource, sampler(cudaAddressModeWrap, true, true), {11, 7, 1});
  cudaFree(memory);
}

void mipmaps() {
  cudaMipmappedArray_t array = nullptr;
  const cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
  cudaMallocMipmappedArray(&array, &channels, {16, 8, 0}, 4);
  for (unsigned i = 0; i < 4; ++i) {
    cudaArray_t part = nullptr;
    cudaGetMipmappedArrayLevel(&part, array, i);
    const size_t width = 16 >> i, height = 8 >> i;
    std::vector<float> numbers(width * height);
    for (float& each : numbers) each = random_number();
    cudaMemcpy2DToArray(part, 0, 0, numbers.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice);
  }
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeMipmappedArray, resource.res.mipmap.mipmap = array;
  for (int i = 0; i < 4; ++i) {
    cudaTextureDesc description = sampler(cudaAddressModeWrap, i % 2, true);
    description.mipmapFilterMode = i / 2 ? cudaFilterModeLinear : cudaFilterModePoint;
    description.maxMipmapLevelClamp = 2.75f, description.mipmapLevelBias = i % 2 ? 0.125f : 0;
    char text[80];
    std::snprintf(text, sizeof text, "levels, %s, texels %s", i / 2 ? "linear" : "point",
                  i % 2 ? "linear" : "point");
    run(text, level, resource, description, {16, 8, 1});
  }
  cudaFreeMipmappedArray(array);
}

int main() {
  const cudaChannelFormatDesc one = cudaCreateChannelDesc<float>(), four = cudaCreateChannelDesc<float4>();
  every_mode(row, one, {13, 0, 0}, 0);
  every_mode(plane, four, {13, 7, 0}, 0);
  every_mode(volume, one, {13, 7, 5}, 0);
  every_mode(rows, one, {13, 0, 3}, cudaArrayLayered);
  every_mode(planes, four, {13, 7, 3}, cudaArrayLayered);
  every_mode(gather, four, {13, 7, 0}, cudaArrayTextureGather);
  every_mode(cube, one, {8, 8, 6}, cudaArrayCubemap);
  every_mode(cubes, one, {8, 8, 12}, cudaArrayCubemap | cudaArrayLayered);
  every_format();
  linear_memory();
  mipmaps();
  std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}
