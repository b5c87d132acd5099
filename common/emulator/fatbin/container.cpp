#include "fatbin/container.hpp"

#include "fatbin/compression.hpp"
#include "fatbin/loaded_segment.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>

namespace warpfold::fatbin {
namespace {

constexpr std::uint32_t wrapper_magic = 0x466243b1;
constexpr std::size_t header_size = 16;

// Offsets in an entry's header. The header has 64 bytes; the source's name and ptxas' options may follow in
// it.
constexpr std::size_t entry_header_size = 64;
constexpr std::size_t entry_length = 4, entry_payload = 8, entry_compressed = 16, entry_architecture = 28,
                      entry_name = 32, entry_name_length = 36, entry_flags = 40, entry_uncompressed = 56;

constexpr std::uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000, flag_old_compression = 0x1000;
constexpr std::uint64_t flag_architecture_specific = 0x10'0000, flag_family_specific = 0x20'0000;

constexpr int newest_architecture = 121;

using Bytes = std::span<const std::byte>;

template <typename Value>
Value at(Bytes bytes, std::size_t offset) {
  Value value;
  std::memcpy(&value, bytes.data() + offset, sizeof value); // entries are aligned to 8 bytes only by custom
  return value;
}

Compression compression_of(std::uint64_t flags) {
  if ((flags & flag_zstd) != 0) return Compression::zstd;
  return (flags & flag_lz4) != 0 ? Compression::lz4 : Compression::none;
}

char suffix_of(std::uint64_t flags) {
  if ((flags & flag_architecture_specific) != 0) return 'a';
  return (flags & flag_family_specific) != 0 ? 'f' : '\0';
}

std::string text_of(const Image& image, Bytes header, Bytes payload) {
  if ((image.flags & flag_old_compression) != 0) {
    throw FormatError(
        "the PTX is compressed as before CUDA 12; compile with --no-compress or a newer toolkit");
  }
  std::string text;
  if (image.compression == Compression::none) {
    text = decompress(Compression::none, payload, payload.size());
  } else {
    const auto compressed = at<std::uint32_t>(header, entry_compressed);
    if (compressed > payload.size()) throw FormatError("an image in the fat binary is longer than its place");
    text = decompress(image.compression, payload.first(compressed),
                      at<std::uint64_t>(header, entry_uncompressed));
  }
  text.resize(text.find_last_not_of('\0') + 1); // padding
  return text;
}

std::string source_of(Bytes header) {
  const std::size_t begin = at<std::uint32_t>(header, entry_name);
  const std::size_t length = at<std::uint32_t>(header, entry_name_length);
  if (length == 0) return {};
  if (begin > header.size() || length > header.size() - begin) {
    throw FormatError("the source's name lies outside its entry in the fat binary");
  }
  return {reinterpret_cast<const char*>(header.data()) + begin, length};
}

// Removes the first entry from `rest`.
Image take_entry(Bytes& rest) {
  if (rest.size() < entry_header_size) throw FormatError("the fat binary ends within an entry's header");
  const std::size_t length = at<std::uint32_t>(rest, entry_length);
  const auto size = at<std::uint64_t>(rest, entry_payload);
  if (length < entry_header_size || length > rest.size()) {
    throw FormatError(fmt::format("an entry of the fat binary has a header of {} bytes", length));
  }
  if (size > rest.size() - length) throw FormatError("the fat binary ends within an image");
  const Bytes header = rest.first(length), payload = rest.subspan(length, size);
  rest = rest.subspan(length + size);

  Image image;
  image.kind = static_cast<Kind>(at<std::uint16_t>(header, 0));
  const auto architecture = at<std::uint32_t>(header, entry_architecture);
  if (architecture > 9999)
    throw FormatError(fmt::format("the fat binary names an architecture {}", architecture));
  image.architecture = static_cast<int>(architecture);
  image.flags = at<std::uint64_t>(header, entry_flags);
  image.suffix = suffix_of(image.flags);
  image.compression = compression_of(image.flags);
  image.source = source_of(header);
  if (image.kind == Kind::ptx) image.ptx = text_of(image, header, payload);
  return image;
}

// The whole fat binary that begins at `data`; its header gives its length.
Bytes extent(const std::byte* data) {
  const std::size_t readable = readable_bytes(data);
  if (readable < header_size) throw FormatError("the program registers a fat binary that it does not hold");
  const Bytes header(data, header_size);
  if (at<std::uint32_t>(header, 0) != fat_binary_magic) {
    throw FormatError("the program registers device code that is not a fat binary");
  }
  const auto size = at<std::uint64_t>(header, 8);
  const std::size_t begin = at<std::uint16_t>(header, 6);
  if (size > std::numeric_limits<std::uint32_t>::max() || begin + size > readable) {
    throw FormatError("the program registers a fat binary that is longer than what the program holds");
  }
  return {data, begin + size};
}

} // namespace

std::string Image::target() const {
  std::string name;
  switch (kind) {
  case Kind::ptx:
    name = "compute_";
    break;
  case Kind::machine_code:
    name = "sm_";
    break;
  case Kind::link_time_ir:
    name = "lto_";
    break;
  default:
    name = fmt::format("kind {} for ", static_cast<unsigned>(kind));
    break;
  }
  name += std::to_string(architecture);
  if (suffix != '\0') name += suffix;
  return name;
}

std::vector<Image> read(std::span<const std::byte> fat_binary) {
  if (fat_binary.size() < header_size)
    throw FormatError("a fat binary has a header of 16 bytes; these are fewer");
  if (at<std::uint32_t>(fat_binary, 0) != fat_binary_magic) {
    throw FormatError("not a fat binary: it does not begin with the magic number 0xba55ed50");
  }
  const auto version = at<std::uint16_t>(fat_binary, 4);
  const std::size_t begin = at<std::uint16_t>(fat_binary, 6);
  const auto size = at<std::uint64_t>(fat_binary, 8);
  if (version != 1) throw FormatError(fmt::format("a fat binary of version {}; version 1 is known", version));
  if (begin < header_size || begin > fat_binary.size() || size > fat_binary.size() - begin) {
    throw FormatError("the fat binary is shorter than its header says");
  }
  std::vector<Image> images;
  for (Bytes rest = fat_binary.subspan(begin, size); !rest.empty();) images.push_back(take_entry(rest));
  return images;
}

std::vector<Image> read_unsized(const void* fat_binary) {
  return read(extent(static_cast<const std::byte*>(fat_binary)));
}

std::vector<std::vector<Image>> read_wrapper(const void* wrapper) {
  struct Wrapper { // __fatBinC_Wrapper_t of fatbinary_section.h
    std::uint32_t magic;
    std::uint32_t version;
    const std::byte* data;
    const std::byte* const*
        prelinked; // version 2: ends with a null pointer; version 1: the name of a file, unused
  };
  if (wrapper == nullptr) throw FormatError("the program registers a null pointer as device code");
  Wrapper read_as;
  std::memcpy(&read_as, wrapper, sizeof read_as);
  if (read_as.magic != wrapper_magic) {
    throw FormatError(
        fmt::format("the program registers device code with the magic number {:#x}; {:#x} is known",
                    read_as.magic, wrapper_magic));
  }
  std::vector<std::vector<Image>> objects;
  if (read_as.version == 1) {
    if (read_as.data == nullptr) throw FormatError("the program registers device code without a fat binary");
    objects.push_back(read(extent(read_as.data)));
  } else if (read_as.version == 2) {
    for (auto object = read_as.prelinked; object != nullptr && *object != nullptr; ++object) {
      objects.push_back(read(extent(*object)));
    }
    if (objects.empty()) throw FormatError("the program was compiled with -rdc=true but registers no object");
  } else {
    throw FormatError(
        fmt::format("the program registers device code of version {}; 1 and 2 are known", read_as.version));
  }
  return objects;
}

const Image& choose(std::span<const Image> images) {
  const Image* best = nullptr;
  const auto rank = [](const Image& image) {
    return image.architecture * 4 + (image.suffix == '\0' ? 2 : image.suffix == 'f' ? 1 : 0);
  };
  for (const Image& image : images) {
    const bool usable =
        image.kind == Kind::ptx && image.architecture <= newest_architecture && !image.ptx.empty();
    if (usable && (best == nullptr || rank(image) > rank(*best))) best = &image;
  }
  if (best != nullptr) return *best;
  std::string found;
  for (const Image& image : images) found += (found.empty() ? "" : ", ") + image.target();
  throw FormatError(
      fmt::format("the emulator runs PTX for compute_{} or older, and the program brings {}: compile it with "
                  "-gencode arch=compute_75,code=compute_75",
                  newest_architecture, found.empty() ? "no device code" : "only " + found));
}

} // namespace warpfold::fatbin
