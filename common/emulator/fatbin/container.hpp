// The container that nvcc embeds in a program: several images of the same device code, as PTX or machine
// code. Its layout is not published; it was derived from the output of nvcc 12 and 13, and every step is
// checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace warpfold::fatbin {

enum class Kind : std::uint16_t { ptx = 1, machine_code = 2, link_time_ir = 8 }; // others are kept as numbers

enum class Compression : std::uint8_t { none, lz4, zstd };

struct Image {
  Kind kind = Kind::ptx;
  int architecture = 0;    // 75 for compute_75 and sm_75
  char suffix = '\0';      // 'a' or 'f' if the code is only for one architecture or family (sm_90a)
  std::uint64_t flags = 0; // as stored
  Compression compression{};
  std::string source;         // the source file's name, if -lineinfo or -G kept it
  std::string ptx;            // the text of a PTX image, decompressed; empty for the other kinds
  std::string target() const; // "compute_90a", "sm_75", "lto_80"
};

struct FormatError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The images of one fat binary, in its order: those of size 0 and those of unknown kind included.
// Throws FormatError if the bytes are not a fat binary or are inconsistent.
std::vector<Image> read(std::span<const std::byte> fat_binary);

// The same for a fat binary whose length only its own header says. It must begin with the magic number.
inline constexpr std::uint32_t fat_binary_magic = 0xba55ed50;
std::vector<Image> read_unsized(const void* fat_binary);

// What a program hands to __cudaRegisterFatBinary. One list of images for a program compiled as a whole; with
// -rdc=true one for each separately compiled object, which are still to be linked. The sizes are the
// container's own, so memory that is not a wrapper can only be recognised, and refused, by its magic number.
std::vector<std::vector<Image>> read_wrapper(const void* wrapper);

// The PTX for the emulator: of the highest architecture up to 12.1, the plain one before its 'f' and 'a'
// variants. Throws FormatError if there is none; the message says what is there and how to compile instead.
const Image& choose(std::span<const Image> images);

} // namespace warpfold::fatbin
