// ptx_dump FILE...: prints each PTX file as the parser understands it. `--time` prints how long parsing
// takes.
#include "dump.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string_view>

namespace {

double milliseconds_to_parse(const std::string& text) {
  double best = 1e9;
  for (int repeat = 0; repeat < 9; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    const auto module = warpfold::ptx::parse(text);
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
    best = std::min(best, taken.count());
  }
  return best;
}

} // namespace

int main(int argc, char** argv) {
  bool timing = false;
  int failures = 0;
  for (int index = 1; index < argc; ++index) {
    if (std::string_view(argv[index]) == "--time") {
      timing = true;
      continue;
    }
    std::ifstream file(argv[index], std::ios::binary);
    if (!file) {
      fmt::print(stderr, "ptx_dump: cannot read {}\n", argv[index]);
      return 2;
    }
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (timing) {
      fmt::print("{}: {} bytes, {:.2f} ms\n", argv[index], text.size(), milliseconds_to_parse(text));
      continue;
    }
    const std::string result = warpfold::ptx::dump_or_error(text);
    fmt::print("{}", result);
    if (result.starts_with("error: ")) ++failures;
  }
  return failures == 0 ? 0 : 1;
}
