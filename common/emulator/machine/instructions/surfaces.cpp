// Loads from and stores to surfaces: suld.b and sust.b (PTX ISA 9.7.11).
#include "images.hpp"

#include "machine/bad_access.hpp"
#include "machine/whole_access.hpp"

namespace warpfold::machine {

namespace {

// What happens outside of the surface.
enum class Outside : std::uint32_t {
  stops,      // .trap
  moves_back, // .clamp: to the nearest place inside
  is_nothing, // .zero: reads give 0, writes go nowhere
};

// What Code::lists holds, before the rows of the values.
struct Form {
  std::uint32_t form = 0; // index into image_forms
  Outside outside{};
  std::uint32_t coordinates[4] = {}; // rows, in the order of the operands
};

const std::uint32_t* rows_of_values(const Warp& warp, const Operation* op) {
  return warp.worker->grid.code.lists.data() + op->list + sizeof(Form) / sizeof(std::uint32_t);
}

struct Place {
  std::int64_t x = 0, y = 0, layer = 0; // x in bytes; layer: or z
};

// The instruction for a cubemap is that for layers, which are the faces.
bool fits(const ImageForm& form, Shape shape) {
  const bool faces = shape == Shape::cube || shape == Shape::layered_cubes;
  return faces ? form.dimensions == 2 && form.layered : form.fits(shape);
}

std::string in_words(const Place& at, const Resource& resource) {
  const Image& image = resource.levels[0];
  const unsigned bytes = resource.format.bytes();
  std::string text = fmt::format("x = {}", at.x);
  if (image.height > 1 || at.y != 0) text += fmt::format(", y = {}", at.y);
  const char* const third = resource.shape == Shape::volume ? "z" : "layer";
  if (image.depth > 1 || at.layer != 0) text += fmt::format(", {} = {}", third, at.layer);
  text += fmt::format(" of {}, whose x goes from 0 to {}: it counts bytes", resource.label,
                      image.width * bytes - 1);
  return text;
}

bool is_inside(const Place& at, const Image& image, std::int64_t row_bytes, std::int64_t width) {
  return at.x >= 0 && at.x + width <= row_bytes && at.y >= 0 && at.y < image.height && at.layer >= 0 &&
         at.layer < image.depth;
}

class Accesses {
public:
  Accesses(Warp& warp, const Operation* op, AccessKind kind)
      : warp_(warp), op_(op), kind_(kind), objects_(warp, op, true), form_(listed<Form>(warp, op)) {
    each_active(warp, [&](unsigned lane) { places_[lane] = find(lane); });
    ++warp.counters[op->index].requests;
  }

  // Where the lane's bytes are; null: nowhere.
  std::byte* of(unsigned lane) const { return places_[lane]; }

  void tell(StoredValues values = {}) {
    const std::uint32_t refused = std::exchange(warp_.worker->refused_lanes, 0);
    if (warp_.watched) tell_of(warp_, op_, request_, inside_ & ~refused, kind_, op_->e, values);
  }

private:
  Warp& warp_;
  const Operation* op_;
  AccessKind kind_;
  Objects objects_;
  Form form_;
  Request request_;
  std::uint32_t inside_ = 0;
  std::byte* places_[warp_lanes];

  Place place(const ImageForm& form, unsigned lane) const {
    const auto number = [&](unsigned i) { return std::int64_t{warp_.row<s32>(form_.coordinates[i])[lane]}; };
    Place at{.x = number(form.layered)};
    if (form.dimensions > 1) at.y = number(1 + form.layered);
    if (form.dimensions > 2) at.layer = number(2);
    if (form.layered) at.layer = number(0);
    return at;
  }

  std::byte* find(unsigned lane) {
    const Resource& resource = objects_.of(lane, warp_.row<u64>(op_->a)[lane]).resource;
    const ImageForm& form = image_forms[form_.form];
    if (!fits(form, resource.shape)) stop_misfit(warp_, op_, resource, lane);
    const Image& image = resource.levels[0];
    const std::int64_t width = op_->e, row_bytes = std::int64_t{image.width} * resource.format.bytes();
    Place at = place(form, lane);
    if (at.x % width != 0) return refuse(Fault::Kind::misaligned, at, resource, lane);
    if (!is_inside(at, image, row_bytes, width)) {
      if (form_.outside == Outside::is_nothing) return nullptr;
      if (form_.outside == Outside::stops) return refuse(Fault::Kind::out_of_bounds, at, resource, lane);
      at.x = std::clamp<std::int64_t>(at.x, 0, row_bytes - width);
      at.y = std::clamp<std::int64_t>(at.y, 0, image.height - 1);
      at.layer = std::clamp<std::int64_t>(at.layer, 0, image.depth - 1);
    }
    request_.address[lane] = image.begin + static_cast<std::uint64_t>(at.layer) * image.slice_bytes +
                             static_cast<std::uint64_t>(at.y) * image.row_bytes +
                             static_cast<std::uint64_t>(at.x);
    inside_ |= 1u << lane;
    return global_at(warp_, op_, request_.address[lane], op_->e, op_->e, kind_, lane);
  }

  std::byte* refuse(Fault::Kind kind, const Place& at, const Resource& resource, unsigned lane) {
    if (is_reported(warp_, op_))
      refuse_access(
          warp_, op_,
          {.kind = kind,
           .message = fmt::format("{} {} bytes at {}", kind_ == AccessKind::load ? "reads" : "writes", op_->e,
                                  in_words(at, resource)),
           .region = Fault::Region::surface},
          1u << lane);
    return nullptr;
  }
};

template <typename T, typename R>
const Operation* load(Warp& warp, const Operation* op) {
  Accesses accesses(warp, op, AccessKind::load);
  accesses.tell();
  const std::uint32_t* const rows = rows_of_values(warp, op);
  each_active(warp, [&](unsigned lane) {
    alignas(16) std::byte elements[16] = {};
    if (const std::byte* const from = accesses.of(lane)) load_whole(elements, from, op->e);
    for (unsigned i = 0; i < op->e / sizeof(T); ++i) {
      T value;
      std::memcpy(&value, elements + i * sizeof(T), sizeof value);
      warp.row<R>(rows[i])[lane] = value;
    }
  });
  return op + 1;
}

template <typename T, typename R>
const Operation* store(Warp& warp, const Operation* op) {
  const std::uint32_t* const rows = rows_of_values(warp, op);
  alignas(16) std::byte elements[warp_lanes][16];
  each_active(warp, [&](unsigned lane) {
    for (unsigned i = 0; i < op->e / sizeof(T); ++i) {
      const T value = static_cast<T>(warp.row<R>(rows[i])[lane]);
      std::memcpy(elements[lane] + i * sizeof(T), &value, sizeof value);
    }
  });
  Accesses accesses(warp, op, AccessKind::store);
  accesses.tell({elements[0], sizeof elements[0]});
  each_active(warp, [&](unsigned lane) {
    std::byte* const to = accesses.of(lane);
    if (!to) return;
    warp.changes = true;
    store_whole(to, elements[lane], op->e);
  });
  return op + 1;
}

Outside outside_of(const ptx::Instruction& in) {
  return in.has("clamp") ? Outside::moves_back : in.has("zero") ? Outside::is_nothing : Outside::stops;
}

// sust.b.2d.v4.b32.trap [handle, {x, y}], {a, b, c, d}; suld has its operands the other way round
template <bool Stores>
void decode_surface(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"b", "1d", "2d", "3d", "a1d", "a2d", "v2", "v4", "trap", "clamp", "zero"});
  need_operands(in, 2);
  if (!in.has("b")) refuse(in);
  const ImageForm& form = image_form(in);
  const ptx::Type type = type_modifier(in);
  const auto size = static_cast<unsigned>(ptx::size_of(type));
  const unsigned count = in.has("v4") ? 4 : in.has("v2") ? 2 : 1;
  if (size * count > 16) refuse(in);
  const ImageOperand image = image_operand(decoder, in, form, ptx::Type::s32);
  Form kept{.form = static_cast<std::uint32_t>(&form - image_forms), .outside = outside_of(in)};
  std::ranges::copy(image.coordinates, kept.coordinates);
  std::vector<std::uint32_t> words = as_words(kept);
  const std::span<const ptx::Operand> elements = ptx::values_of(in.operands[Stores ? 1 : 0]);
  if (elements.size() != count) refuse(in);
  for (const ptx::Operand& each : elements)
    words.push_back(Stores ? decoder.source(each, type) : decoder.destination(each, size));
  const Handler run = pick<u8, u16, u32, u64>(type, []<typename T>(std::type_identity<T>) -> Handler {
    using Register = std::conditional_t<sizeof(T) == 1, u16, T>;
    return Stores ? Handler{store<T, Register>} : Handler{load<T, Register>};
  });
  const std::uint32_t list = decoder.list(words);
  Operation& op = decoder.emit(need(run, in));
  op.a = image.handle, op.list = list, op.e = size * count;
}

constexpr Opcode opcodes[] = {
    {"suld", decode_surface<false>, Work::surface},
    {"sust", decode_surface<true>, Work::surface},
};

} // namespace

std::span<const Opcode> surface_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
