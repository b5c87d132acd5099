// fatbin_dump [--ptx N] FILE: lists the images of every fat binary in a file, be it what `nvcc -fatbin`
// writes or a program. With --ptx it prints the text of the N-th image that is PTX, from 0.
#include "fatbin/container.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace {

using warpfold::fatbin::Image;
using warpfold::fatbin::Kind;

constexpr std::string_view magic("\x50\xed\x55\xba", 4);

// Every place where a fat binary begins: compilers align them to 8 bytes.
std::vector<Image> all_images(const std::string& file) {
  std::vector<Image> images;
  for (std::size_t at = 0; (at = file.find(magic, at)) != file.npos; at += 8) {
    const auto found = warpfold::fatbin::read(std::as_bytes(std::span(file).subspan(at)));
    images.insert(images.end(), found.begin(), found.end());
  }
  return images;
}

void list(const std::vector<Image>& images) {
  constexpr const char* compressions[] = {"plain", "lz4", "zstd"};
  for (const Image& image : images) {
    fmt::print("{:16} {:5} {:8} characters of PTX {}\n", image.target(),
               compressions[static_cast<int>(image.compression)], image.ptx.size(), image.source);
  }
}

int print_ptx(const std::vector<Image>& images, int wanted) {
  for (const Image& image : images) {
    if (image.kind != Kind::ptx || wanted-- > 0) continue;
    std::fwrite(image.ptx.data(), 1, image.ptx.size(), stdout);
    return 0;
  }
  fmt::print(stderr, "fatbin_dump: there are not as many PTX images\n");
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  const bool wants_ptx = argc == 4 && std::strcmp(argv[1], "--ptx") == 0;
  if (argc != 2 && !wants_ptx) {
    fmt::print(stderr, "usage: fatbin_dump [--ptx N] FILE\n");
    return 2;
  }
  std::ifstream stream(argv[argc - 1], std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(stream), {}};
  try {
    const auto images = all_images(file);
    if (wants_ptx) return print_ptx(images, std::atoi(argv[2]));
    list(images);
    return 0;
  } catch (const warpfold::fatbin::FormatError& error) {
    fmt::print(stderr, "fatbin_dump: {}: {}\n", argv[argc - 1], error.what());
    return 1;
  }
}
