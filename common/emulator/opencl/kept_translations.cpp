#include "kept_translations.hpp"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <mutex>

namespace warpfold::opencl {
namespace {

constexpr std::uint64_t longest_text = 64 << 20;

void put(std::ostream& out, const std::string& text) {
  const std::uint64_t size = text.size();
  out.write(reinterpret_cast<const char*>(&size), sizeof size);
  out.write(text.data(), static_cast<std::streamsize>(size));
}

// False if there is none.
bool take(std::istream& in, std::string& text) {
  std::uint64_t size = 0;
  if (!in.read(reinterpret_cast<char*>(&size), sizeof size) || size > longest_text) return false;
  text.resize(size);
  return static_cast<bool>(in.read(text.data(), static_cast<std::streamsize>(size)));
}

Translation next_of(std::istream& in) {
  std::string succeeded;
  Translation kept;
  if (!take(in, succeeded) || !take(in, kept.text) || !take(in, kept.log))
    return {false, "", "error: what the compiler made of this was not kept\n"};
  kept.succeeded = succeeded == "1";
  return kept;
}

void append(const char* path, const Translation& made) {
  std::ofstream out(path, std::ios::binary | std::ios::app);
  put(out, made.succeeded ? "1" : "0");
  put(out, made.text);
  put(out, made.log);
}

} // namespace

Translation kept_or(const std::function<Translation()>& make) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const char* const path = std::getenv("WARPFOLD_OPENCL_KEPT")) {
    static std::ifstream in(path, std::ios::binary);
    return next_of(in);
  }
  Translation made = make();
  if (const char* const path = std::getenv("WARPFOLD_OPENCL_KEEP")) append(path, made);
  return made;
}

} // namespace warpfold::opencl
