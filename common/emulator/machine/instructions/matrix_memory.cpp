// Matrices between memory and the registers of a warp: ldmatrix, stmatrix and movmatrix (PTX ISA 9.7.14.5.15
// to 9.7.14.5.17), wmma.load and wmma.store (9.7.14.4).
#include "matrix.hpp"

#include "lanes.hpp"
#include "whole_warp.hpp"

#include "machine/access.hpp"

namespace warpfold::machine {

namespace {

// A matrix of ldmatrix: 8 rows of 8 elements of 16 bits. Lanes 0 to 7 give the addresses of the first one's
// rows, the next 8 lanes those of the second one's, and so on.
constexpr unsigned rows_of_tile = 8, row_bytes = 16, element_bytes = 2;

// The part of a tile that a lane holds in its register: two neighbours in a row, or in a column.
struct TilePart {
  unsigned row = 0, column = 0;
};
TilePart part_in_tile(unsigned lane, unsigned part, bool transposed) {
  const unsigned line = lane / lanes_of_group, place = lane % lanes_of_group * 2 + part;
  return transposed ? TilePart{place, line} : TilePart{line, place};
}

using Tile = std::byte[rows_of_tile][row_bytes];

void spread(Warp& warp, const Tile& tile, std::uint32_t row, bool transposed) {
  u32* d = warp.row<u32>(row);
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    u16 parts[2];
    for (unsigned part = 0; part < 2; ++part) {
      const TilePart at = part_in_tile(lane, part, transposed);
      std::memcpy(&parts[part], tile[at.row] + at.column * element_bytes, element_bytes);
    }
    d[lane] = static_cast<u32>(parts[0] | parts[1] << 16);
  }
}

void collect(Warp& warp, Tile& tile, std::uint32_t row, bool transposed) {
  const u32* from = warp.row<u32>(row);
  for (unsigned lane = 0; lane < warp_lanes; ++lane)
    for (unsigned part = 0; part < 2; ++part) {
      const TilePart at = part_in_tile(lane, part, transposed);
      const auto value = static_cast<u16>(from[lane] >> 16 * part);
      std::memcpy(tile[at.row] + at.column * element_bytes, &value, element_bytes);
    }
}

// Reads or writes the rows: those of the lanes that give addresses.
template <AccessKind Kind>
void access_rows(Warp& warp, const Operation* op, unsigned tiles, Tile* content) {
  Request request;
  read_addresses(warp, op, request);
  const std::uint32_t all = warp.mask;
  warp.set_mask(tiles * rows_of_tile == warp_lanes ? all : (1u << tiles * rows_of_tile) - 1);
  request.even = false;
  each_active(warp, [&](unsigned lane) {
    u64& address = request.address[lane];
    const u64 window = address & window_mask;
    if (window != 0 && window != shared_window)
      stop(warp, op, Fault::Kind::invalid_instruction,
           fmt::format("takes 0x{:x} for a row in shared memory", address), 1u << lane);
    address &= ~window_mask;
  });
  std::byte* places[warp_lanes];
  each_active(warp, [&](unsigned lane) {
    places[lane] = shared_at(warp, op, request.address[lane], row_bytes, Kind, 1u << lane);
  });
  count_shared(warp, op, request, row_bytes);
  auto* const rows = reinterpret_cast<std::byte(*)[row_bytes]>(content);
  if constexpr (Kind == AccessKind::load) {
    warp.count_read(warp.from_shared, row_bytes);
    tell(warp, op, request, ptx::Space::shared, Kind, row_bytes);
    each_active(warp, [&](unsigned lane) { std::memcpy(rows[lane], places[lane], row_bytes); });
  } else {
    warp.changes = true;
    tell(warp, op, request, ptx::Space::shared, Kind, row_bytes, {rows[0], row_bytes});
    each_active(warp, [&](unsigned lane) { std::memcpy(places[lane], rows[lane], row_bytes); });
  }
  warp.set_mask(all);
}

const std::uint32_t* listed(const Warp& warp, const Operation* op) {
  return warp.worker->grid.code.lists.data() + op->list;
}

template <bool Transposed>
const Operation* load_tiles(Warp& warp, const Operation* op) {
  return in_whole_warp(warp, op, [&] {
    Tile tiles[4];
    access_rows<AccessKind::load>(warp, op, op->b, tiles);
    for (unsigned i = 0; i < op->b; ++i) spread(warp, tiles[i], listed(warp, op)[i], Transposed);
  });
}

template <bool Transposed>
const Operation* store_tiles(Warp& warp, const Operation* op) {
  return in_whole_warp(warp, op, [&] {
    Tile tiles[4];
    for (unsigned i = 0; i < op->b; ++i) collect(warp, tiles[i], listed(warp, op)[i], Transposed);
    access_rows<AccessKind::store>(warp, op, op->b, tiles);
  });
}

const Operation* transpose_tile(Warp& warp, const Operation* op) {
  return in_whole_warp(warp, op, [&] {
    Tile tile;
    collect(warp, tile, op->a, false);
    spread(warp, tile, op->d, true);
  });
}

template <bool Stores>
void decode_tiles(Decoder& decoder, const ptx::Instruction& in) {
  need_operands(in, 2);
  const unsigned tiles = in.has("x1") ? 1 : in.has("x2") ? 2 : in.has("x4") ? 4 : 0;
  if (tiles == 0 || !in.has("m8n8") || !in.has("b16")) refuse(in);
  std::vector<std::uint32_t> rows;
  append_rows(in, in.operands[Stores ? 1 : 0], tiles, rows, [&](const ptx::Operand& each) {
    return Stores ? decoder.source(each, ptx::Type::b32) : decoder.destination(each, 4);
  });
  const Decoder::Address address = decoder.address(in.operands[Stores ? 0 : 1], ptx::Space::shared);
  const bool transposed = in.has("trans");
  const std::uint32_t list = decoder.list(rows);
  Operation& op = decoder.emit(Stores ? (transposed ? store_tiles<true> : store_tiles<false>)
                                      : (transposed ? load_tiles<true> : load_tiles<false>));
  MemoryForm form = memory_form(in);
  set_form(op, form, address, row_bytes);
  op.list = list, op.b = tiles;
}

void decode_movmatrix(Decoder& decoder, const ptx::Instruction& in) {
  need_operands(in, 2);
  if (!in.has("m8n8") || !in.has("trans") || !in.has("b16")) refuse(in);
  decoder.emit(transpose_tile, decoder.destination(in.operands[0], 4),
               decoder.source(in.operands[1], ptx::Type::b32));
}

// A matrix of wmma in memory, and its fragment. What Code::lists says of it, then its registers' rows.
enum class Role : std::uint32_t { a, b, sum };
struct Fragment {
  static constexpr unsigned words = 6;
  Role role{};
  std::uint32_t rows = 0, columns = 0; // of the matrix in memory
  Element element{};
  std::uint32_t by_column = 0; // columns are contiguous
  std::uint32_t registers = 0;

  unsigned bits() const { return form_of(element).bits; }
  // Registers that hold each element once.
  unsigned distinct() const { return registers_for(rows * columns, element); }
  // Elements of a register that are also neighbours in memory.
  unsigned together() const {
    const bool along_memory = role == Role::b ? by_column != 0 : by_column == 0;
    return along_memory ? packed_in(element) : 1;
  }
  // In elements, from the matrix's first.
  std::uint64_t place(unsigned lane, unsigned reg, unsigned part, std::uint64_t stride) const {
    std::uint64_t row = 0, column = 0;
    if (role == Role::sum) {
      const AccumulatorPlace at = place_in_sum(rows, lane, reg * packed_in(element) + part);
      row = at.row, column = at.column;
    } else {
      const ElementPlace at =
          place_in_factor(role == Role::a ? rows : columns, packed_in(element), lane, reg, part);
      row = role == Role::a ? at.line : at.k, column = role == Role::a ? at.k : at.line;
    }
    return by_column ? column * stride + row : row * stride + column;
  }
};

Fragment fragment_of(const Warp& warp, const Operation* op) {
  const std::uint32_t* words = listed(warp, op);
  return {static_cast<Role>(words[0]),    words[1], words[2],
          static_cast<Element>(words[3]), words[4], words[5]};
}

// Where each lane's bytes are. Tells and counts the request.
template <AccessKind Kind>
void find_bytes(Warp& warp, const Operation* op, Request& request, unsigned width, std::byte** places,
                StoredValues values = {}) {
  auto space = static_cast<ptx::Space>(op->c);
  if (space == ptx::Space::generic) space = resolve_generic(warp, request);
  if (space == ptx::Space::shared) {
    each_active(warp, [&](unsigned lane) {
      places[lane] = shared_at(warp, op, request.address[lane], width, Kind, 1u << lane);
    });
    count_shared(warp, op, request, width);
    if (Kind == AccessKind::load) warp.count_read(warp.from_shared, width);
  } else if (space == ptx::Space::global) {
    each_active(warp, [&](unsigned lane) {
      places[lane] = global_at(warp, op, request.address[lane], width, width, Kind, lane);
    });
    count_global(warp, op, request, width, Kind);
    if (Kind == AccessKind::load) {
      warp.count_read(warp.from_global, width);
      each_active(warp, [&](unsigned lane) { warp.from_global.reach(request.address[lane], width); });
    }
  } else {
    stop(warp, op, Fault::Kind::unsupported, "takes a matrix that is neither in global nor in shared memory",
         warp.mask);
  }
  tell(warp, op, request, space, Kind, width, values);
}

// Visits the pieces of a fragment's register: visit(request, width, first part), each `width` bytes per lane.
template <typename Visit>
void each_piece(Warp& warp, const Operation* op, const Fragment& fragment, unsigned reg, Visit visit) {
  Request bases;
  read_addresses(warp, op, bases);
  const u32* stride = warp.row<u32>(op->b);
  const unsigned together = fragment.together();
  for (unsigned part = 0; part < packed_in(fragment.element); part += together) {
    Request request;
    each_active(warp, [&](unsigned lane) {
      const std::uint64_t place = fragment.place(lane, reg, part, stride[lane]);
      request.address[lane] = bases.address[lane] + place * fragment.bits() / 8;
    });
    visit(request, together * fragment.bits() / 8, part);
  }
}

const Operation* load_fragment(Warp& warp, const Operation* op) {
  return in_whole_warp(warp, op, [&] {
    const Fragment fragment = fragment_of(warp, op);
    const std::uint32_t* rows = listed(warp, op) + Fragment::words;
    for (unsigned reg = 0; reg < fragment.distinct(); ++reg) {
      u64 bits[warp_lanes] = {};
      each_piece(warp, op, fragment, reg, [&](Request& request, unsigned width, unsigned part) {
        std::byte* places[warp_lanes];
        find_bytes<AccessKind::load>(warp, op, request, width, places);
        for (unsigned lane = 0; lane < warp_lanes; ++lane) {
          u64 piece = 0;
          std::memcpy(&piece, places[lane], width);
          bits[lane] |= piece << part * fragment.bits();
        }
      });
      // The same again in the registers that repeat these.
      for (unsigned copy = reg; copy < fragment.registers; copy += fragment.distinct())
        for (unsigned lane = 0; lane < warp_lanes; ++lane)
          if (register_bytes(fragment.element) == 8)
            warp.row<u64>(rows[copy])[lane] = bits[lane];
          else
            warp.row<u32>(rows[copy])[lane] = static_cast<u32>(bits[lane]);
    }
  });
}

const Operation* store_fragment(Warp& warp, const Operation* op) {
  return in_whole_warp(warp, op, [&] {
    const Fragment fragment = fragment_of(warp, op);
    const std::uint32_t* rows = listed(warp, op) + Fragment::words;
    warp.changes = true;
    for (unsigned reg = 0; reg < fragment.registers; ++reg)
      each_piece(warp, op, fragment, reg, [&](Request& request, unsigned width, unsigned part) {
        u64 bits[warp_lanes];
        for (unsigned lane = 0; lane < warp_lanes; ++lane) {
          bits[lane] = register_bytes(fragment.element) == 8 ? warp.row<u64>(rows[reg])[lane]
                                                             : warp.row<u32>(rows[reg])[lane];
          bits[lane] >>= part * fragment.bits();
        }
        std::byte* places[warp_lanes];
        find_bytes<AccessKind::store>(warp, op, request, width, places,
                                      {reinterpret_cast<const std::byte*>(bits), sizeof bits[0]});
        for (unsigned lane = 0; lane < warp_lanes; ++lane) std::memcpy(places[lane], &bits[lane], width);
      });
  });
}

// wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {registers}, [address], stride
template <bool Stores>
void decode_fragment(Decoder& decoder, const ptx::Instruction& in) {
  if (in.operands.size() < 2) refuse(in);
  const std::vector<Element> elements = elements_named(in);
  if (elements.size() != 1) refuse(in);
  Fragment fragment{.element = elements[0]};
  fragment.role = in.has("a") ? Role::a : in.has("b") ? Role::b : Role::sum;
  if (fragment.role == Role::sum && !in.has("c") && !in.has("d")) refuse(in);
  const std::string_view name = shape_name(in);
  const auto* const shape = std::ranges::find_if(wmma_shapes, [&](const MatrixShape& each) {
    return each.name == name && (fragment.role == Role::sum || each.bits == fragment.bits());
  });
  if (shape == std::end(wmma_shapes)) refuse(in, "there is no such shape for this type");
  fragment.rows = fragment.role == Role::b ? shape->k : shape->m;
  fragment.columns = fragment.role == Role::a ? shape->k : shape->n;
  fragment.by_column = in.has("col");
  fragment.registers =
      registers_of_fragment(fragment.rows * fragment.columns, fragment.element, fragment.role == Role::sum);
  std::vector<std::uint32_t> words = {
      static_cast<std::uint32_t>(fragment.role),    fragment.rows,      fragment.columns,
      static_cast<std::uint32_t>(fragment.element), fragment.by_column, fragment.registers};
  const bool wide = register_bytes(fragment.element) == 8;
  append_rows(in, in.operands[Stores ? 1 : 0], fragment.registers, words, [&](const ptx::Operand& each) {
    return Stores ? decoder.source(each, wide ? ptx::Type::b64 : ptx::Type::b32)
                  : decoder.destination(each, wide ? 8 : 4);
  });
  const MemoryForm form = memory_form(in);
  const Decoder::Address address = decoder.address(in.operands[Stores ? 0 : 1], form.space);
  const std::uint32_t stride =
      in.operands.size() > 2 ? decoder.source(in.operands[2], ptx::Type::u32)
                             : decoder.constant(fragment.by_column ? fragment.rows : fragment.columns, 4);
  const std::uint32_t list = decoder.list(words);
  Operation& op = decoder.emit(Stores ? store_fragment : load_fragment);
  set_form(op, form, address, 1);
  op.list = list, op.b = stride, op.c = static_cast<std::uint32_t>(address.space);
  decoder.code().facts[op.index].work = Stores ? Work::store : Work::load;
}

constexpr Opcode opcodes[] = {
    {"ldmatrix", decode_tiles<false>, Work::load, Guarding::skips},
    {"stmatrix", decode_tiles<true>, Work::store, Guarding::skips},
    {"movmatrix", decode_movmatrix, Work::shuffle, Guarding::skips},
};

} // namespace

void decode_wmma_load(Decoder& decoder, const ptx::Instruction& in) {
  decode_fragment<false>(decoder, in);
}
void decode_wmma_store(Decoder& decoder, const ptx::Instruction& in) {
  decode_fragment<true>(decoder, in);
}

std::span<const Opcode> matrix_memory_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
