#include "dump.hpp"

#include <fmt/format.h>

#include <span>

namespace warpfold::fatbin {
namespace {

constexpr std::string_view magic_bytes("\x50\xed\x55\xba", 4);

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

} // namespace

std::vector<Image> images_in(std::string_view file) {
  std::vector<Image> images;
  for (std::size_t at = 0; (at = file.find(magic_bytes, at)) != file.npos; at += magic_bytes.size()) {
    const std::vector<Image> found = read(bytes(file.substr(at)));
    images.insert(images.end(), found.begin(), found.end());
  }
  return images;
}

std::string list(const std::vector<Image>& images) {
  constexpr const char* compressions[] = {"plain", "lz4", "zstd"};
  std::string lines;
  for (const Image& image : images) {
    lines +=
        fmt::format("{} {}, {} characters of PTX{}\n", compressions[static_cast<int>(image.compression)],
                    image.target(), image.ptx.size(), image.source.empty() ? "" : " from " + image.source);
  }
  return lines;
}

std::string dump_or_error(std::string_view fat_binary) {
  try {
    const std::vector<Image> images = read(bytes(fat_binary));
    std::string text = list(images);
    try {
      const Image& chosen = choose(images);
      text += fmt::format("chosen: {}\n{}", chosen.target(), chosen.ptx);
    } catch (const FormatError& error) {
      text += fmt::format("chosen: error: {}\n", error.what());
    }
    return text;
  } catch (const FormatError& error) {
    return fmt::format("error: {}\n", error.what());
  }
}

} // namespace warpfold::fatbin
