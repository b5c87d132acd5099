#include "program/main.hpp"
#include "run/opencl/runner.hpp"

#include <string>

namespace lab::opencl {

int main(int argc, char** argv, std::initializer_list<Implementation> rungs, const char* source) {
  std::string kernels = source;
  kernels.replace(kernels.rfind(".cpp"), 4, ".cl");
  use_runner(make_runner());
  std::vector<lab::Implementation> implementations;
  for (const Implementation& each : rungs) implementations.emplace_back(each.rung, variant_of(each.reduce));
  return run_lab(argc, argv, kernels, implementations);
}

} // namespace lab::opencl
