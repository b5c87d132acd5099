// What textures and surfaces have in common: from the operand that names an object and a place in it to the
// object itself.
#pragma once

#include "lanes.hpp"

#include "machine/access.hpp"
#include "machine/textures.hpp"

#include <fmt/format.h>

namespace warpfold::machine {

// `[handle, {x, y}]`: the handle's row is `a`, and that of each coordinate in the list.
struct ImageOperand {
  std::uint32_t handle = 0;
  std::vector<std::uint32_t> coordinates;
};

// The geometry that the instruction names: how many coordinates there are, and whether a layer is before
// them.
struct ImageForm {
  std::string_view name; // "a2d"
  unsigned dimensions = 0;
  bool layered = false;
  bool cube = false;
  unsigned operands() const { return dimensions + layered; }
  bool fits(Shape shape) const {
    switch (shape) {
    case Shape::linear:
      return false;
    case Shape::row:
      return dimensions == 1 && !layered;
    case Shape::plane:
      return dimensions == 2 && !layered;
    case Shape::volume:
      return dimensions == 3 && !cube && !layered;
    case Shape::layered_rows:
      return dimensions == 1 && layered;
    case Shape::layered_planes:
      return dimensions == 2 && layered;
    case Shape::cube:
      return cube && !layered;
    case Shape::layered_cubes:
      return cube && layered;
    }
    return false;
  }
};

inline constexpr ImageForm image_forms[] = {
    {"1d", 1},
    {"2d", 2},
    {"3d", 3},
    {"a1d", 1, true},
    {"a2d", 2, true},
    {"cube", 3, false, true},
    {"acube", 3, true, true},
};

inline const ImageForm& image_form(const ptx::Instruction& in) {
  for (const ImageForm& form : image_forms)
    if (in.has(form.name)) return form;
  refuse(in);
}

inline std::uint32_t handle_of(Decoder& decoder, const ptx::Instruction& in, const ptx::Operand& operand) {
  const auto* const address = std::get_if<ptx::AddressOperand>(&operand.value);
  const auto* const base = address ? std::get_if<ptx::RegisterOperand>(&address->base) : nullptr;
  if (!base) refuse(in, "texture and surface references are gone since CUDA 12; use objects");
  return decoder.source({*base}, ptx::Type::u64);
}

// A vector may be padded: three coordinates take four elements.
inline ImageOperand image_operand(Decoder& decoder, const ptx::Instruction& in, const ImageForm& form,
                                  ptx::Type type) {
  const auto& parts = decoder.elements(in.operands[in.opcode == "sust" ? 0 : 1]);
  if (parts.size() != 2) refuse(in, "only an object and its coordinates are expected");
  ImageOperand result{.handle = handle_of(decoder, in, parts[0]), .coordinates = {}};
  const std::span<const ptx::Operand> elements = ptx::values_of(parts[1]);
  if (elements.size() < form.operands()) refuse(in, "a coordinate is missing");
  for (unsigned i = 0; i < form.operands(); ++i)
    result.coordinates.push_back(decoder.source(elements[i], i == 0 && form.layered ? ptx::Type::u32 : type));
  return result;
}

// What an instruction has put into Code::lists: a structure of words.
template <typename Form>
Form listed(const Warp& warp, const Operation* op) {
  std::array<std::uint32_t, sizeof(Form) / sizeof(std::uint32_t)> words;
  std::copy_n(warp.worker->grid.code.lists.data() + op->list, words.size(), words.begin());
  return std::bit_cast<Form>(words);
}

template <typename Form>
std::vector<std::uint32_t> as_words(const Form& form) {
  const auto words = std::bit_cast<std::array<std::uint32_t, sizeof(Form) / sizeof(std::uint32_t)>>(form);
  return {words.begin(), words.end()};
}

// Finds the objects of the lanes: usually they all have the same.
class Objects {
public:
  Objects(const Warp& warp, const Operation* op, bool surfaces) : warp_(warp), op_(op), surfaces_(surfaces) {}

  const Texture& of(unsigned lane, std::uint64_t handle) {
    if (last_ && handle == handle_) return *last_;
    const Textures* const all = warp_.worker->grid.textures.get();
    const auto found = all ? all->find(handle) : Textures::const_iterator{};
    if (!all || found == all->end() || found->second->resource.is_surface != surfaces_)
      stop(warp_, op_, Fault::Kind::invalid_instruction,
           fmt::format("takes {} for a {} object, which it is not: was it created before the launch, and not "
                       "yet destroyed?",
                       handle, surfaces_ ? "surface" : "texture"),
           1u << lane);
    handle_ = handle, last_ = found->second.get();
    return *last_;
  }

private:
  const Warp& warp_;
  const Operation* op_;
  bool surfaces_;
  std::uint64_t handle_ = 0;
  const Texture* last_ = nullptr;
};

[[noreturn]] inline void stop_misfit(const Warp& warp, const Operation* op, const Resource& resource,
                                     unsigned lane) {
  stop(warp, op, Fault::Kind::invalid_instruction,
       fmt::format("{} does not fit {}, which is {}", warp.worker->grid.code.names[op->index], resource.label,
                   name_of(resource.shape)),
       1u << lane);
}

// Tells the watcher of accesses by the lanes of `mask`.
inline void tell_of(Warp& warp, const Operation* op, const Request& request, std::uint32_t mask,
                    AccessKind kind, unsigned width, StoredValues values = {}) {
  const std::uint32_t all = warp.mask;
  if (mask == 0) return;
  warp.set_mask(mask);
  tell(warp, op, request, ptx::Space::global, kind, width, values);
  warp.set_mask(all);
}

} // namespace warpfold::machine
