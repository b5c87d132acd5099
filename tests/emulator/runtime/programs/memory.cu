// Allocations, copies and fills: what is refused, and with which error.
#include "show.hpp"

#include <cstring>
#include <vector>

void round_trips() {
  int *first, *second, values[4] = {1, 2, 3, 4}, back[4] = {};
  SHOW(cudaMalloc(&first, sizeof values));
  SHOW(cudaMalloc(&second, sizeof values));
  SHOW(cudaMemcpy(first, values, sizeof values, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy(second, first, sizeof values, cudaMemcpyDeviceToDevice));
  SHOW(cudaMemcpy(back, second, sizeof values, cudaMemcpyDefault));
  SHOW_VALUE(std::memcmp(values, back, sizeof values));
  SHOW(cudaMemset(first, 0xff, 8));
  SHOW(cudaMemcpy(back, first, sizeof back, cudaMemcpyDeviceToHost));
  std::printf("after the fill: %d %d %d %d\n", back[0], back[1], back[2], back[3]);
  SHOW_VALUE(reinterpret_cast<size_t>(first) % 256);
  SHOW(cudaFree(first));
  SHOW(cudaFree(second));
}

void refused() {
  int *memory, *interior, host[8] = {};
  cudaMalloc(&memory, 32);
  interior = memory + 1;
  SHOW(cudaMemcpy(memory, host, 36, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy(host, interior, 32, cudaMemcpyDeviceToHost));
  SHOW(cudaMemcpy(host, memory, 32, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy(memory, host, 32, cudaMemcpyDeviceToHost));
  SHOW(cudaMemcpy(memory, host, 32, static_cast<cudaMemcpyKind>(9)));
  SHOW(cudaMemcpy(nullptr, host, 4, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
  SHOW(cudaMemset(host, 0, 4));
  SHOW(cudaFree(interior));
  SHOW(cudaFree(host));
  SHOW(cudaFreeHost(memory));
  SHOW(cudaFree(memory));
  SHOW(cudaFree(memory));
  SHOW(cudaMemcpy(host, memory, 4, cudaMemcpyDeviceToHost));
  SHOW(cudaFree(nullptr));
  SHOW(cudaMalloc(static_cast<void**>(nullptr), 4));
  void* nothing = &host;
  SHOW(cudaMalloc(&nothing, 0));
  SHOW_VALUE(nothing == nullptr);
  SHOW(cudaMalloc(&nothing, size_t(1) << 50));
  SHOW(cudaPeekAtLastError());
  SHOW(cudaGetLastError());
  SHOW(cudaGetLastError());
}

void rectangles() {
  char *rows, host[3][5], back[3][5] = {};
  size_t pitch;
  std::memcpy(host, "abcdefghijklmno", 15);
  SHOW(cudaMallocPitch(&rows, &pitch, 5, 3));
  SHOW_VALUE(pitch);
  SHOW(cudaMemcpy2D(rows, pitch, host, 5, 5, 3, cudaMemcpyHostToDevice));
  SHOW(cudaMemset2D(rows + pitch + 1, pitch, '-', 2, 2));
  SHOW(cudaMemcpy2D(back, 5, rows, pitch, 5, 3, cudaMemcpyDeviceToHost));
  std::printf("%.5s %.5s %.5s\n", back[0], back[1], back[2]);
  SHOW(cudaMemcpy2D(back, 4, rows, pitch, 5, 3, cudaMemcpyDeviceToHost));
  SHOW(cudaMemcpy2D(back, 5, rows, pitch, 5, 4, cudaMemcpyDeviceToHost));
  cudaPitchedPtr box;
  SHOW(cudaMalloc3D(&box, make_cudaExtent(8, 2, 2)));
  SHOW(cudaMemset3D(box, 7, make_cudaExtent(8, 2, 2)));
  char cube[2][2][8] = {};
  cudaMemcpy3DParms parameters{};
  parameters.srcPtr = box;
  parameters.srcPos = make_cudaPos(1, 1, 1);
  parameters.dstPtr = make_cudaPitchedPtr(cube, 8, 8, 2);
  parameters.extent = make_cudaExtent(3, 1, 1);
  parameters.kind = cudaMemcpyDeviceToHost;
  SHOW(cudaMemcpy3D(&parameters));
  std::printf("%d %d %d %d\n", cube[0][0][0], cube[0][0][2], cube[0][0][3], cube[1][1][0]);
  cudaFree(rows);
  cudaFree(box.ptr);
}

const char* name_of(cudaMemoryType type) {
  const char* names[] = {"unregistered", "host", "device", "managed"};
  return names[type];
}

void kinds_of_pointers() {
  void *device, *pinned, *managed;
  std::vector<char> pageable(4096), registered(4096);
  cudaMalloc(&device, 16);
  SHOW(cudaMallocHost(&pinned, 16));
  SHOW(cudaMallocManaged(&managed, 16));
  SHOW(cudaHostRegister(registered.data(), registered.size(), cudaHostRegisterDefault));
  SHOW(cudaHostRegister(registered.data() + 8, 8, cudaHostRegisterDefault));
  for (void* pointer : {device, pinned, managed, static_cast<void*>(pageable.data()),
                        static_cast<void*>(registered.data() + 4095)}) {
    cudaPointerAttributes attributes;
    cudaPointerGetAttributes(&attributes, pointer);
    std::printf("%s, device %d, for the device %d, for the host %d\n", name_of(attributes.type),
                attributes.device, attributes.devicePointer == pointer, attributes.hostPointer == pointer);
  }
  static_cast<char*>(managed)[15] = 5;
  static_cast<char*>(pinned)[15] = 6;
  SHOW(cudaMemcpy(device, managed, 16, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy(managed, device, 16, cudaMemcpyDeviceToHost));
  SHOW(cudaMemPrefetchAsync(managed, 17, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0));
  SHOW(cudaHostUnregister(registered.data()));
  SHOW(cudaHostUnregister(registered.data()));
  SHOW(cudaFree(managed));
  SHOW(cudaFree(pinned));
  SHOW(cudaFreeHost(pinned));
  SHOW(cudaFree(device));
}

void in_order() {
  size_t before, during, after, total;
  cudaMemGetInfo(&before, &total);
  void* memory;
  SHOW(cudaMallocAsync(&memory, 1 << 20, 0));
  cudaMemGetInfo(&during, &total);
  SHOW_VALUE(before - during);
  SHOW(cudaFreeAsync(memory, 0));
  cudaMemGetInfo(&after, &total);
  SHOW_VALUE(before - after);
  cudaMemPool_t pool, made;
  SHOW(cudaDeviceGetDefaultMemPool(&pool, 0));
  unsigned long long threshold = 4096, read = 0;
  SHOW(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  SHOW(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &read));
  SHOW_VALUE(read);
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  SHOW(cudaMemPoolCreate(&made, &properties));
  SHOW(cudaMallocFromPoolAsync(&memory, 64, made, 0));
  SHOW(cudaFreeAsync(memory, 0));
  SHOW(cudaMemPoolDestroy(made));
  SHOW(cudaMallocFromPoolAsync(&memory, 64, made, 0));
}

int main() {
  round_trips();
  refused();
  rectangles();
  kinds_of_pointers();
  in_order();
}
