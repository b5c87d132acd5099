// Loads from and stores to surfaces of every kind, inside and outside of them.
#include "verdict.hpp"

constexpr int width = 16, height = 8, depth = 3, outside = 4;

struct Surface {
  cudaArray_t array = nullptr;
  cudaSurfaceObject_t object = 0;
  Surface(const cudaChannelFormatDesc& channels, cudaExtent size, unsigned flags = 0) {
    cudaMalloc3DArray(&array, &channels, size, flags | cudaArraySurfaceLoadStore);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray, resource.res.array.array = array;
    cudaCreateSurfaceObject(&object, &resource);
  }
  ~Surface() {
    cudaDestroySurfaceObject(object);
    cudaFreeArray(array);
  }
};

__host__ __device__ int number_at(int x, int y, int z) {
  return (z * 100 + y) * 100 + x + 1;
}

// Through a row, a plane, a volume and layers of these: stored by one kernel, loaded by another.
template <int Kind>
__global__ void store_numbers(cudaSurfaceObject_t to) {
  const int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
  if (Kind == 0) surf1Dwrite(number_at(x, 0, 0), to, x * 4);
  if (Kind == 1) surf2Dwrite(number_at(x, y, 0), to, x * 4, y);
  if (Kind == 2) surf3Dwrite(number_at(x, y, z), to, x * 4, y, z);
  if (Kind == 3) surf1DLayeredwrite(number_at(x, 0, z), to, x * 4, z);
  if (Kind == 4) surf2DLayeredwrite(number_at(x, y, z), to, x * 4, y, z);
}

template <int Kind>
__global__ void load_numbers(cudaSurfaceObject_t from, int* words) {
  const int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
  int& to = words[(z * gridDim.x + y) * width + x];
  if (Kind == 0) to = surf1Dread<int>(from, x * 4);
  if (Kind == 1) to = surf2Dread<int>(from, x * 4, y);
  if (Kind == 2) to = surf3Dread<int>(from, x * 4, y, z);
  if (Kind == 3) to = surf1DLayeredread<int>(from, x * 4, z);
  if (Kind == 4) to = surf2DLayeredread<int>(from, x * 4, y, z);
}

template <int Kind>
void there_and_back(const char* name, int rows, int slices) {
  const bool layered = Kind > 2;
  const size_t h = rows > 1 ? rows : 0, d = slices > 1 ? slices : 0;
  const Surface surface(cudaCreateChannelDesc<int>(), {width, h, d}, layered ? cudaArrayLayered : 0);
  const dim3 grid(rows, slices);
  check(
      name, width * rows * slices,
      [&](int* words) {
        store_numbers<Kind><<<grid, width>>>(surface.object);
        load_numbers<Kind><<<grid, width>>>(surface.object, words);
      },
      [=](unsigned i) { return number_at(i % width, i / width % rows, i / width / rows); });
}

__global__ void store_faces(cudaSurfaceObject_t to) {
  surfCubemapwrite(number_at(threadIdx.x, blockIdx.x, blockIdx.y), to, threadIdx.x * 4, blockIdx.x,
                   blockIdx.y);
}

// Elements of other widths, and several of them together.
__global__ void store_vectors(cudaSurfaceObject_t bytes, cudaSurfaceObject_t shorts,
                              cudaSurfaceObject_t quads) {
  const int x = threadIdx.x, y = blockIdx.x, n = y * width + x;
  surf2Dwrite(make_uchar4(n, n + 1, n + 2, n + 3), bytes, x * 4, y);
  surf2Dwrite(make_short2(-n, n), shorts, x * 4, y);
  surf2Dwrite(make_float4(n, 0.5f, -n, 2), quads, x * 16, y);
}

__global__ void load_vectors(cudaSurfaceObject_t bytes, cudaSurfaceObject_t shorts, cudaSurfaceObject_t quads,
                             int* to) {
  const int x = threadIdx.x, y = blockIdx.x, n = y * width + x;
  const uchar4 a = surf2Dread<uchar4>(bytes, x * 4, y);
  const short2 b = surf2Dread<short2>(shorts, x * 4, y);
  const float4 c = surf2Dread<float4>(quads, x * 16, y);
  const unsigned char single = surf2Dread<unsigned char>(bytes, x * 4 + 3, y);
  const long long pair = surf2Dread<long long>(quads, x * 16 + 8, y);
  to[n] = a.x + a.y + a.z + a.w + b.x + 2 * b.y + int(c.x + 4 * c.y + c.z + c.w) + single +
          (unsigned(pair) == __float_as_uint(float(-n)) ? 1000 : 0);
}

// Outside of it: each thread takes a place of a grid that is larger than the surface.
__global__ void store_outside(cudaSurfaceObject_t to) {
  const int x = int(threadIdx.x) - outside, y = int(blockIdx.x) - outside;
  surf2Dwrite(number_at(x, y, 0), to, x * 4, y, cudaBoundaryModeZero);
}

__global__ void load_outside(cudaSurfaceObject_t from, int* to, bool clamp) {
  const int x = int(threadIdx.x) - outside, y = int(blockIdx.x) - outside;
  to[blockIdx.x * blockDim.x + threadIdx.x] = clamp ? surf2Dread<int>(from, x * 4, y, cudaBoundaryModeClamp)
                                                    : surf2Dread<int>(from, x * 4, y, cudaBoundaryModeZero);
}

int clamped(int at, int size) {
  return at < 0 ? 0 : at < size ? at : size - 1;
}

void beyond_its_ends() {
  constexpr int wide = width + 2 * outside, high = height + 2 * outside;
  const Surface surface(cudaCreateChannelDesc<int>(), {width, height, 0});
  for (const bool clamp : {false, true})
    check(
        clamp ? "clamp" : "zero", wide * high,
        [&](int* words) {
          store_outside<<<high, wide>>>(surface.object);
          load_outside<<<high, wide>>>(surface.object, words, clamp);
        },
        [=](unsigned i) {
          const int x = int(i % wide) - outside, y = int(i / wide) - outside;
          const int near_x = clamped(x, width), near_y = clamped(y, height);
          return clamp || (x == near_x && y == near_y) ? number_at(near_x, near_y, 0) : 0;
        });
}

// What a kernel has stored through a surface, the next one may fetch from a texture.
__global__ void fetch_numbers(cudaTextureObject_t from, int* to) {
  to[blockIdx.x * width + threadIdx.x] = tex2D<int>(from, threadIdx.x, blockIdx.x);
}

void through_a_texture() {
  const Surface surface(cudaCreateChannelDesc<int>(), {width, height, 0});
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray, resource.res.array.array = surface.array;
  const cudaTextureDesc description = {};
  cudaTextureObject_t texture = 0;
  cudaCreateTextureObject(&texture, &resource, &description, nullptr);
  check(
      "through a texture", width * height,
      [&](int* words) {
        store_numbers<1><<<height, width>>>(surface.object);
        fetch_numbers<<<height, width>>>(texture, words);
      },
      [](unsigned i) { return number_at(i % width, i / width, 0); });
  cudaDestroyTextureObject(texture);
}

int main() {
  there_and_back<0>("row", 1, 1);
  there_and_back<1>("plane", height, 1);
  there_and_back<2>("volume", height, depth);
  there_and_back<3>("layered rows", 1, depth);
  there_and_back<4>("layered planes", height, depth);
  {
    const Surface faces(cudaCreateChannelDesc<int>(), {width, width, 6}, cudaArrayCubemap);
    std::vector<int> found(width * width * 6);
    store_faces<<<dim3(width, 6), width>>>(faces.object);
    cudaMemcpy3DParms copy = {};
    copy.dstPtr = make_cudaPitchedPtr(found.data(), width * 4, width, width);
    copy.srcArray = faces.array, copy.extent = {width, width, 6}, copy.kind = cudaMemcpyDeviceToHost;
    cudaMemcpy3D(&copy);
    unsigned wrong = 0;
    for (int i = 0; i < width * width * 6; ++i)
      wrong += found[i] != number_at(i % width, i / width % width, i / width / width);
    std::printf("faces of a cube: %s\n", wrong ? "wrong" : "right");
  }
  {
    const Surface bytes(cudaCreateChannelDesc<uchar4>(), {width, height, 0}),
        shorts(cudaCreateChannelDesc<short2>(), {width, height, 0}),
        quads(cudaCreateChannelDesc<float4>(), {width, height, 0});
    check(
        "vectors", width * height,
        [&](int* words) {
          store_vectors<<<height, width>>>(bytes.object, shorts.object, quads.object);
          load_vectors<<<height, width>>>(bytes.object, shorts.object, quads.object, words);
        },
        [](unsigned i) {
          const int n = static_cast<int>(i);
          return 4 * n + 6 + n + 4 + n + 3 + 1000;
        });
  }
  beyond_its_ends();
  through_a_texture();
}
