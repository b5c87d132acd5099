// PTX that a program loads while it runs: its kernels, their parameters and its variables.
#include "show.hpp"

#include <fstream>

// NOLINTNEXTLINE(modernize-avoid-c-arrays)
const char ptx[] = R"(
.version 7.5
.target sm_75
.address_size 64
.visible .const .align 4 .u32 offset = 5;
.visible .entry add(.param .u64 add_0, .param .u32 add_1) {
  .reg .u64 %rd<3>; .reg .u32 %r<4>;
  ld.param.u64 %rd1, [add_0];
  ld.param.u32 %r1, [add_1];
  ld.const.u32 %r2, [offset];
  add.u32 %r3, %r1, %r2;
  st.global.u32 [%rd1], %r3;
  ret;
}
.visible .entry nothing() { ret; }
)";

__global__ void of_this_program() {}

int launch(cudaKernel_t kernel, int value) {
  int *out, found = 0;
  cudaMalloc(&out, sizeof *out);
  void* arguments[] = {&out, &value};
  SHOW(cudaLaunchKernel(kernel, 1, 1, arguments, 0, 0));
  SHOW(cudaMemcpy(&found, out, sizeof found, cudaMemcpyDeviceToHost));
  cudaFree(out);
  return found;
}

int main() {
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr, all[2] = {};
  unsigned count = 0;
  SHOW(cudaLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  SHOW(cudaLibraryGetKernelCount(&count, library));
  SHOW_VALUE(count);
  SHOW(cudaLibraryEnumerateKernels(all, 2, library));
  SHOW(cudaLibraryGetKernel(&kernel, library, "add"));
  SHOW_VALUE(kernel == all[0] || kernel == all[1]);
  SHOW_VALUE(launch(kernel, 37));

  size_t offset = 99, size = 0;
  SHOW(cudaFuncGetParamInfo(kernel, 1, &offset, &size));
  SHOW_VALUE(offset * 100 + size);
  SHOW(cudaFuncGetParamInfo(kernel, 2, &offset, &size));
  cudaFuncAttributes attributes;
  SHOW(cudaFuncGetAttributes(&attributes, kernel));
  SHOW_VALUE(attributes.constSizeBytes);
  SHOW(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));

  void* variable = nullptr;
  SHOW(cudaLibraryGetGlobal(&variable, &size, library, "offset"));
  const int new_offset = -7;
  SHOW(cudaMemcpy(variable, &new_offset, size, cudaMemcpyHostToDevice));
  SHOW_VALUE(launch(kernel, 37));

  // The same code twice has variables of its own.
  cudaLibrary_t second = nullptr;
  std::ofstream("loaded_libraries.ptx") << ptx;
  SHOW(cudaLibraryLoadFromFile(&second, "loaded_libraries.ptx", nullptr, nullptr, 0, nullptr, nullptr, 0));
  std::remove("loaded_libraries.ptx");
  SHOW(cudaLibraryGetKernel(&kernel, second, "add"));
  SHOW_VALUE(launch(kernel, 37));

  SHOW(cudaLibraryGetKernel(&kernel, library, "subtract"));
  SHOW(cudaLibraryGetGlobal(&variable, &size, library, "subtract"));
  SHOW(cudaLibraryUnload(library));
  SHOW(cudaLibraryLoadFromFile(&library, "no/such/file", nullptr, nullptr, 0, nullptr, nullptr, 0));
  of_this_program<<<1, 1>>>();
  SHOW(cudaDeviceSynchronize());
}
