// fatbin_dump [--ptx N | --case] FILE: lists the images of every fat binary in a file, which may be the
// output of `nvcc -fatbin` or a program. With --ptx, it prints the text of the N-th PTX image, counted from
// 0; with --case, what cases/*.txt contain.
#include "dump.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace {

int print_ptx(const std::vector<warpfold::fatbin::Image>& images, int wanted) {
  for (const auto& image : images) {
    if (image.kind != warpfold::fatbin::Kind::ptx || wanted-- > 0) continue;
    fmt::print("{}", image.ptx);
    return 0;
  }
  fmt::print(stderr, "fatbin_dump: there are not as many images that are PTX\n");
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  const std::string_view option = argc > 2 ? argv[1] : "";
  if (!(argc == 2 || (argc == 3 && option == "--case") || (argc == 4 && option == "--ptx"))) {
    fmt::print(stderr, "usage: fatbin_dump [--ptx N | --case] FILE\n");
    return 2;
  }
  std::ifstream stream(argv[argc - 1], std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(stream), {}};
  try {
    if (option == "--ptx") return print_ptx(warpfold::fatbin::images_in(file), std::atoi(argv[2]));
    fmt::print("{}", option == "--case" ? warpfold::fatbin::dump_or_error(file)
                                        : warpfold::fatbin::list(warpfold::fatbin::images_in(file)));
    return 0;
  } catch (const warpfold::fatbin::FormatError& error) {
    fmt::print(stderr, "fatbin_dump: {}: {}\n", argv[argc - 1], error.what());
    return 1;
  }
}
