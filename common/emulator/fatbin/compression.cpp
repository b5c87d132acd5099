#include "fatbin/compression.hpp"

#include <lz4.h>
#include <zstd.h>

#include <limits>

namespace warpfold::fatbin {
namespace {

constexpr std::size_t largest = std::size_t{1} << 30; // no program has a gigabyte of PTX

std::string decompress_lz4(std::span<const std::byte> data, std::size_t size) {
  // A byte of LZ4 yields at most 255 bytes, so a damaged size is detected before memory is allocated for it.
  if (data.size() > largest || size > data.size() * 255 + 64) {
    throw FormatError("the fat binary states a size that its LZ4 data cannot have");
  }
  std::string text(size, '\0');
  const int written = LZ4_decompress_safe(reinterpret_cast<const char*>(data.data()), text.data(),
                                          static_cast<int>(data.size()), static_cast<int>(size));
  if (written < 0 || static_cast<std::size_t>(written) != size) {
    throw FormatError("the LZ4 data of an image in the fat binary are damaged");
  }
  return text;
}

std::string decompress_zstd(std::span<const std::byte> data, std::size_t size) {
  const unsigned long long stated = ZSTD_getFrameContentSize(data.data(), data.size());
  if (stated == ZSTD_CONTENTSIZE_ERROR || (stated != ZSTD_CONTENTSIZE_UNKNOWN && stated != size)) {
    throw FormatError("the zstd data of an image in the fat binary are damaged");
  }
  std::string text(size, '\0');
  const std::size_t written = ZSTD_decompress(text.data(), size, data.data(), data.size());
  if (ZSTD_isError(written) != 0 || written != size) {
    throw FormatError(std::string("the zstd data of an image in the fat binary are damaged") +
                      (ZSTD_isError(written) != 0 ? std::string(": ") + ZSTD_getErrorName(written) : ""));
  }
  return text;
}

} // namespace

std::string decompress(Compression compression, std::span<const std::byte> data, std::size_t size) {
  if (size > largest) throw FormatError("an image in the fat binary claims more than a gigabyte of PTX");
  switch (compression) {
  case Compression::lz4:
    return decompress_lz4(data, size);
  case Compression::zstd:
    return decompress_zstd(data, size);
  case Compression::none:
    break;
  }
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

} // namespace warpfold::fatbin
