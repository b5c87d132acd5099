// Prints the report about itself: a refused launch is a hazard only if the program never checks the error, a
// fault in any case. Looked up by name, as any program may do: it links to nothing of the emulator.
#include "show.hpp"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

__global__ void write_to(int* where, int value) {
  where[value] = value;
}

__global__ void write_to_read(int* where, int value) {
  where[0] = where[value];
}

template <typename Function>
Function* look_up(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// Prints the kinds of the hazards in the report, one per line, and how many launches it contains.
void report(const char* what) {
  const char* text = look_up<const char*()>("warpfold_emulator_report")();
  int launches = 0;
  for (const char* at = text; (at = std::strstr(at, "\"kernel\"")); ++at) ++launches;
  std::printf("%s: %d launches\n", what, launches);
  for (const char* at = text; (at = std::strstr(at, "\"kind\"")); ++at)
    std::printf("  %.*s\n", static_cast<int>(std::strcspn(at, ",")), at);
}

bool report_says(const char* words) {
  return std::strstr(look_up<const char*()>("warpfold_emulator_report")(), words) != nullptr;
}

int main() {
  look_up<int(const char*, const char*)>("warpfold_emulator_option")("checks", "all");
  look_up<void()>("warpfold_emulator_reset")();
  SHOW_VALUE(look_up<int()>("warpfold_emulator_interface")());
  int* memory;
  cudaMalloc(&memory, 40);
  write_to<<<1, 1>>>(memory, 3);
  write_to<<<1, 4096>>>(memory, 3);
  SHOW(cudaGetLastError());
  report("asked");
  write_to<<<0, 1>>>(memory, 3);
  report("never asked");
  look_up<void()>("warpfold_emulator_reset")();
  report("after a reset");
  // Elements are counted from the address that is named: two of the ten numbers come before it.
  look_up<void(const void*, const char*)>("warpfold_emulator_name")(memory + 2, "numbers");
  write_to_read<<<1, 1>>>(memory, 5);
  SHOW(cudaDeviceSynchronize());
  SHOW_VALUE(report_says("element 3 of numbers (32 bytes)"));
  write_to<<<1, 1>>>(memory, 1000);
  SHOW(cudaGetLastError());
  report("after a fault");
  SHOW_VALUE(report_says("element 998 of numbers (32 bytes), which has 8 elements"));
  // With WARPFOLD_REPORT, the fault is already on disk, whatever happens to the program.
  if (const char* path = std::getenv("WARPFOLD_REPORT")) {
    char text[65536] = {};
    FILE* file = std::fopen(path, "r");
    SHOW_VALUE(file && std::fread(text, 1, sizeof text - 1, file) && std::strstr(text, "out-of-bounds"));
  }
}
