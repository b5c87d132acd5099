#include "origins.hpp"

#include "arithmetic.hpp"
#include "telling.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <iterator>

namespace warpfold::nccl {
namespace {

// As PTX names them, in the order of NCCL's. It has no average, and what scaled sums add is made elsewhere.
constexpr const char* operators_in_ptx[] = {"add", "mul", "max", "min", "avg"};
constexpr const char* types_in_ptx[] = {"s8", "u8", "s32", "u32", "s64", "u64", "f16", "f32", "f64", "bf16"};

template <class Function>
Function of_emulator(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

bool is_followed() {
  static const auto follows = of_emulator<int (*)()>("warpfold_emulator_follows_values");
  return follows && follows();
}

void note(Segment& segment, const Call& call, const void* result, const std::vector<const void*>& sources,
          std::size_t width, std::size_t count, const std::string& operation) {
  static const auto made =
      of_emulator<void (*)(const void*, const void* const*, std::size_t, std::size_t, std::size_t,
                           const char*, const char*, const char*)>("warpfold_emulator_made");
  if (made)
    made(result, sources.data(), sources.size(), width, count, operation.c_str(), text(call).c_str(),
         place_of(segment, segment.rank(), call).c_str());
}

} // namespace

void note_combined(Segment& segment, const Call& call, const void* result,
                   const std::vector<const void*>& sources, std::size_t count) {
  if (!is_followed() || call.op < 0 || call.op >= static_cast<int>(std::size(operators_in_ptx))) return;
  note(segment, call, result, sources, size_of(call.type), count,
       fmt::format("{}.{}", operators_in_ptx[call.op], types_in_ptx[call.type]));
}

void note_copied(Segment& segment, const Call& call, const void* to, const void* from, std::size_t bytes) {
  if (!is_followed()) return;
  const std::size_t width = size_of(call.type);
  note(segment, call, to, {from}, width, bytes / width, "");
}

} // namespace warpfold::nccl
