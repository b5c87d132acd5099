// Fetches from textures: tex, tld4 and txq (PTX ISA 9.7.10).
#include "images.hpp"

namespace warpfold::machine {

namespace {

// What Code::lists holds of a fetch: the form, then the rows of its operands; 0: there is none.
struct Fetch {
  enum class Level : std::uint32_t { first, given, derived };
  std::uint32_t form = 0;    // index into image_forms
  std::uint32_t element = 0; // the coordinate is an index into linear memory
  Level level{};
  std::uint32_t results[4] = {}, layer = 0, coordinates[3] = {}, level_row = 0, dx[3] = {}, dy[3] = {};
};

float float_at(Warp& warp, std::uint32_t row, unsigned lane) {
  return row ? warp.row<float>(row)[lane] : 0;
}

Coordinates coordinates_of(Warp& warp, const Fetch& fetch, const Texture& texture, unsigned lane) {
  Coordinates at;
  if (fetch.element) {
    at.element = warp.row<s32>(fetch.coordinates[0])[lane];
    return at;
  }
  at.x = float_at(warp, fetch.coordinates[0], lane);
  at.y = float_at(warp, fetch.coordinates[1], lane);
  at.z = float_at(warp, fetch.coordinates[2], lane);
  if (fetch.layer) at.layer = warp.row<u32>(fetch.layer)[lane];
  if (fetch.level == Fetch::Level::given) at.level = float_at(warp, fetch.level_row, lane);
  if (fetch.level == Fetch::Level::derived) {
    std::array<float, 3> dx{}, dy{};
    for (unsigned i = 0; i < 3; ++i)
      dx[i] = float_at(warp, fetch.dx[i], lane), dy[i] = float_at(warp, fetch.dy[i], lane);
    at.level = level_of(texture, dx, dy);
  }
  return at;
}

// The texels of all lanes, of which those that may not be read are replaced by zeros.
void check_texels(Warp& warp, const Operation* op, const Texture& texture, unsigned lane, Footprint& texels) {
  const unsigned bytes = texture.resource.format.bytes();
  for (unsigned i = 0; i < texels.count; ++i) {
    std::uint64_t& address = texels.texels[i].address;
    if (address == Texel::border) continue;
    address = reinterpret_cast<std::uint64_t>(
        global_at(warp, op, address, bytes, texture.resource.format.channel_bytes, AccessKind::load, lane));
  }
}

void tell_of_texels(Warp& warp, const Operation* op, const Footprint* texels, const unsigned* bytes) {
  const std::uint32_t refused = std::exchange(warp.worker->refused_lanes, 0);
  if (!warp.watched) return;
  for (unsigned i = 0; i < Footprint::most; ++i) {
    Request request;
    for (std::uint32_t left = warp.mask & ~refused; left != 0;) {
      // Objects may differ, and with them the widths.
      const unsigned width = bytes[std::countr_zero(left)];
      std::uint32_t these = 0, reading = 0;
      for (std::uint32_t lanes = left; lanes; lanes &= lanes - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
        if (bytes[lane] != width) continue;
        these |= 1u << lane;
        if (i >= texels[lane].count || texels[lane].texels[i].address == Texel::border) continue;
        reading |= 1u << lane;
        request.address[lane] = texels[lane].texels[i].address;
      }
      tell_of(warp, op, request, reading, AccessKind::load, width);
      left &= ~these;
    }
  }
}

// `find` gives the texels of a lane, `make` the results.
template <typename Find, typename Make>
const Operation* fetch_texels(Warp& warp, const Operation* op, Find find, Make make) {
  const Fetch fetch = listed<Fetch>(warp, op);
  const u64* const handles = warp.row<u64>(op->a);
  Objects objects(warp, op, false);
  Footprint texels[warp_lanes];
  const Texture* textures[warp_lanes];
  unsigned bytes[warp_lanes] = {};
  each_active(warp, [&](unsigned lane) {
    const Texture& texture = objects.of(lane, handles[lane]);
    const Shape shape = texture.resource.shape;
    if (fetch.element ? shape != Shape::linear : !image_forms[fetch.form].fits(shape))
      stop_misfit(warp, op, texture.resource, lane);
    textures[lane] = &texture;
    bytes[lane] = texture.resource.format.bytes();
    texels[lane] = find(texture, coordinates_of(warp, fetch, texture, lane));
    check_texels(warp, op, texture, lane, texels[lane]);
  });
  ++warp.counters[op->index].requests;
  tell_of_texels(warp, op, texels, bytes);
  each_active(warp, [&](unsigned lane) {
    const auto results = make(*textures[lane], texels[lane]);
    for (unsigned i = 0; i < 4; ++i) warp.row<u32>(fetch.results[i])[lane] = results[i];
  });
  return op + 1;
}

const Operation* fetch(Warp& warp, const Operation* op) {
  return fetch_texels(
      warp, op, [](const Texture& texture, const Coordinates& at) { return footprint(texture, at); },
      [](const Texture& texture, const Footprint& texels) { return filtered(texture, texels); });
}

const Operation* gather(Warp& warp, const Operation* op) {
  return fetch_texels(
      warp, op, [](const Texture& texture, const Coordinates& at) { return gathered(texture, at); },
      [=](const Texture& texture, const Footprint& texels) { return gathered(texture, texels, op->e); });
}

std::vector<std::uint32_t> derivative(Decoder& decoder, const ptx::Instruction& in, std::size_t operand,
                                      unsigned dimensions) {
  const std::span<const ptx::Operand> elements = ptx::values_of(in.operands[operand]);
  if (elements.size() < dimensions) refuse(in);
  std::vector<std::uint32_t> rows;
  for (unsigned i = 0; i < dimensions; ++i) rows.push_back(decoder.source(elements[i], ptx::Type::f32));
  return rows;
}

Fetch decode_operands(Decoder& decoder, const ptx::Instruction& in, std::uint32_t& handle) {
  const ImageForm& form = image_form(in);
  const ptx::Type coordinate = type_modifier(in), result = type_modifier(in, 1);
  const bool four = in.has("v4") && ptx::size_of(result) == sizeof(std::uint32_t);
  if (!four) refuse(in, "only four results of 32 bits are supported");
  Fetch fetch{.form = static_cast<std::uint32_t>(&form - image_forms)};
  fetch.element = coordinate == ptx::Type::s32;
  if (fetch.element && form.name != "1d") refuse(in, "integers as coordinates are for linear memory only");
  if (!fetch.element && coordinate != ptx::Type::f32) refuse(in);
  const auto& results = decoder.elements(in.operands[0]);
  if (results.size() != 4) refuse(in);
  for (unsigned i = 0; i < 4; ++i) fetch.results[i] = decoder.destination(results[i], sizeof(std::uint32_t));
  const ImageOperand image = image_operand(decoder, in, form, coordinate);
  handle = image.handle;
  if (form.layered) fetch.layer = image.coordinates[0];
  for (unsigned i = 0; i < form.dimensions; ++i) fetch.coordinates[i] = image.coordinates[i + form.layered];
  return fetch;
}

void emit_fetch(Decoder& decoder, const Fetch& fetch, Handler run, std::uint32_t handle, std::uint32_t part) {
  const std::uint32_t list = decoder.list(as_words(fetch));
  Operation& op = decoder.emit(run);
  op.a = handle, op.list = list, op.e = part;
}

// tex.2d.v4.f32.f32 {d, e, f, g}, [handle, {x, y}]
void decode_tex(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube", "v4", "level", "grad", "base"});
  std::uint32_t handle = 0;
  Fetch fetch = decode_operands(decoder, in, handle);
  const unsigned dimensions = image_forms[fetch.form].dimensions;
  std::size_t used = 2;
  if (in.has("level")) {
    fetch.level = Fetch::Level::given;
    fetch.level_row = decoder.source(in.operands[used++], ptx::Type::f32);
  } else if (in.has("grad")) {
    if (image_forms[fetch.form].cube) refuse(in);
    fetch.level = Fetch::Level::derived;
    std::ranges::copy(derivative(decoder, in, used++, dimensions), fetch.dx);
    std::ranges::copy(derivative(decoder, in, used++, dimensions), fetch.dy);
  }
  need_operands(in, used);
  emit_fetch(decoder, fetch, machine::fetch, handle, 0);
}

// tld4.r.2d.v4.f32.f32 {d, e, f, g}, [handle, {x, y}]: one channel of the four texels around a place
void decode_tld4(Decoder& decoder, const ptx::Instruction& in) {
  allow(in, {"r", "g", "b", "a", "2d", "a2d", "v4"});
  need_operands(in, 2);
  std::uint32_t handle = 0;
  const Fetch fetch = decode_operands(decoder, in, handle);
  emit_fetch(decoder, fetch, gather, handle, in.has("r") ? 0 : in.has("g") ? 1 : in.has("b") ? 2 : 3);
}

enum class Query : std::uint32_t { width, height, depth, layers, levels, normalized };

std::uint32_t answer(const Texture& texture, Query query) {
  const Resource& resource = texture.resource;
  const Image& image = resource.levels[0];
  const bool solid = resource.shape == Shape::volume;
  const std::uint32_t faces = resource.shape == Shape::cube || resource.shape == Shape::layered_cubes ? 6 : 1;
  switch (query) {
  case Query::width:
    return image.width;
  case Query::height:
    return image.height;
  case Query::depth:
    return solid ? image.depth : 1;
  case Query::layers:
    return solid ? 1 : image.depth / faces;
  case Query::levels:
    return static_cast<std::uint32_t>(resource.levels.size());
  case Query::normalized:
    return texture.sampler.normalized_coordinates;
  }
  return 0;
}

template <bool Surfaces>
const Operation* query(Warp& warp, const Operation* op) {
  Objects objects(warp, op, Surfaces);
  const u64* const handles = warp.row<u64>(op->a);
  each_active(warp, [&](unsigned lane) {
    warp.row<u32>(op->d)[lane] = answer(objects.of(lane, handles[lane]), static_cast<Query>(op->e));
  });
  return op + 1;
}

// txq.width.b32 d, [handle]
template <bool Surfaces>
void decode_query(Decoder& decoder, const ptx::Instruction& in) {
  constexpr std::pair<std::string_view, Query> queries[] = {
      {"width", Query::width},
      {"height", Query::height},
      {"depth", Query::depth},
      {"array_size", Query::layers},
      {"num_mipmap_levels", Query::levels},
      {"normalized_coords", Query::normalized},
  };
  need_operands(in, 2);
  const auto* const found =
      std::ranges::find_if(queries, [&](const auto& each) { return in.has(each.first); });
  if (found == std::end(queries)) refuse(in);
  allow(in, {found->first});
  const std::uint32_t handle = handle_of(decoder, in, in.operands[1]);
  Operation& op = decoder.emit(query<Surfaces>, decoder.destination(in.operands[0], sizeof(std::uint32_t)));
  op.a = handle, op.e = static_cast<std::uint32_t>(found->second);
}

constexpr Opcode opcodes[] = {
    {"tex", decode_tex, Work::texture},
    {"tld4", decode_tld4, Work::texture},
    {"txq", decode_query<false>},
    {"suq", decode_query<true>},
};

} // namespace

std::span<const Opcode> texture_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
