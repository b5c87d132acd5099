// Loads, stores and address conversions (PTX ISA 9.7.9).
#include "async_cluster.hpp"
#include "lanes.hpp"

#include "machine/access.hpp"
#include "machine/whole_access.hpp"

namespace warpfold::machine {

namespace {

// A value as a register holds it: sign-extended or zero-extended.
template <typename R, typename T>
inline R widened(T value) {
  return static_cast<R>(value);
}

template <typename T>
inline T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

inline bool is_strong(const Operation* op) {
  return static_cast<MemoryOrder>(op->order) != MemoryOrder::weak;
}

inline void count_read(Warp& warp, const Operation* op, BytesRead& read, unsigned width) {
  const Code& code = warp.worker->grid.code;
  if (!code.prints || !code.facts[op->index].is_printed) warp.count_read(read, width);
}

// Where the lanes' bytes are, one pointer per lane; only those of active lanes are set. `width` bytes are
// checked for each.
struct Places {
  std::byte* at[warp_lanes];
  std::byte* first = nullptr; // set: lane i is at first + i * width, and all 32 may be read
  std::byte* of(unsigned lane, unsigned width) const { return first ? first + lane * width : at[lane]; }
};

// The range of the lanes' bytes.
void reach(Warp& warp, const Request& request, unsigned width) {
  const auto reach_lane = [&](unsigned lane) { warp.from_global.reach(request.address[lane], width); };
  if (!request.even) return each_active(warp, reach_lane);
  reach_lane(static_cast<unsigned>(std::countr_zero(warp.mask)));
  reach_lane(static_cast<unsigned>(std::bit_width(warp.mask)) - 1);
}

// Whether no lane needs a check of its own. At an even stride, the first and the last lane lie outermost, as
// for one address that all lanes access.
inline bool are_in_known_range(const Warp& warp, const Operation* op, const Request& request,
                               unsigned width) {
  constexpr std::uint64_t longest = 1ull << 32; // in either direction; no sum of such strides wraps around
  if (!request.even || request.stride + longest > 2 * longest) return false;
  if ((request.first | request.stride) % width) return false;
  const auto known = [&](int lane) { return in_known_range(warp, op, request.address[lane], width); };
  return known(std::countr_zero(warp.mask)) && known(std::bit_width(warp.mask) - 1);
}

template <AccessKind Kind>
void find_global(Warp& warp, const Operation* op, Request& request, unsigned width, StoredValues values,
                 Places& places) {
  std::uint64_t first = request.first;
  if (request.even && request.stride == width && first % width == 0 &&
      in_known_range(warp, op, first, std::uint64_t{warp_lanes} * width)) {
    places.first = reinterpret_cast<std::byte*>(first);
  } else if (request.even && request.stride == width && warp.mask == all_lanes) {
    if (check_global(warp, op, first, width, width, Kind, 1) &&
        in_known_range(warp, op, first, std::uint64_t{warp_lanes} * width))
      places.first = reinterpret_cast<std::byte*>(first);
  }
  if (!places.first && are_in_known_range(warp, op, request, width))
    each_active(
        warp, [&](unsigned lane) { places.at[lane] = reinterpret_cast<std::byte*>(request.address[lane]); });
  else if (!places.first)
    each_active(warp, [&](unsigned lane) {
      places.at[lane] = global_at(warp, op, request.address[lane], width, width, Kind, lane);
    });
  count_global(warp, op, request, width, Kind);
  if (Kind == AccessKind::store) count_own_places(warp, op, ptx::Space::global, request, width);
  if (Kind == AccessKind::load && !is_strong(op)) {
    count_read(warp, op, warp.from_global, width);
    reach(warp, request, width);
  }
  tell(warp, op, request, ptx::Space::global, Kind, width, values);
}

template <AccessKind Kind>
void find_shared(Warp& warp, const Operation* op, Request& request, unsigned width, StoredValues values,
                 Places& places) {
  std::uint64_t first = request.first;
  // Inactive lanes may point beyond the end: the buffer is one row longer than what the block may use.
  unsigned used_lanes = static_cast<unsigned>(std::bit_width(warp.mask));
  if (request.even && request.stride == width && first % width == 0 &&
      lies_in(0, warp.worker->grid.shared_bytes(), first, std::uint64_t{used_lanes} * width) &&
      width <= Block::shared_slack / warp_lanes)
    places.first = warp.block->shared.data() + first;
  else
    each_active(warp, [&](unsigned lane) {
      places.at[lane] = shared_at(warp, op, request.address[lane], width, Kind, 1u << lane);
    });
  if (Kind == AccessKind::load) count_read(warp, op, warp.from_shared, width);
  if (Kind == AccessKind::store) count_own_places(warp, op, ptx::Space::shared, request, width);
  note_shared(warp, op, request, Kind, width, values);
}

template <AccessKind Kind>
void find_local(Warp& warp, const Operation* op, Request& request, unsigned width, StoredValues values,
                Places& places) {
  each_active(warp, [&](unsigned lane) {
    places.at[lane] = local_at(warp, op, lane, request.address[lane], width, Kind);
  });
  tell(warp, op, request, ptx::Space::local, Kind, width, values);
}

template <AccessKind Kind>
void find_generic(Warp& warp, const Operation* op, Request& request, unsigned width, StoredValues values,
                  Places& places) {
  const auto find = [&](ptx::Space space, Request& part, auto otherwise) {
    switch (space) {
    case ptx::Space::global:
      return find_global<Kind>(warp, op, part, width, values, places);
    case ptx::Space::shared:
      return find_shared<Kind>(warp, op, part, width, values, places);
    case ptx::Space::local:
      return find_local<Kind>(warp, op, part, width, values, places);
    default:
      otherwise(part);
    }
  };
  const auto in_parameters = [&](Request& part) {
    each_active(warp, [&](unsigned lane) {
      places.at[lane] = generic_at(warp, op, lane, part.address[lane], width, width, Kind);
    });
  };
  find(resolve_generic(warp, request), request, [&](Request& mixed) {
    each_space(warp, mixed, [&](ptx::Space space, Request& part) { find(space, part, in_parameters); });
  });
}

template <ptx::Space S, AccessKind Kind>
void find_places(Warp& warp, const Operation* op, unsigned width, Places& places, StoredValues values = {}) {
  Request request;
  read_addresses(warp, op, request);
  if constexpr (S == ptx::Space::global)
    find_global<Kind>(warp, op, request, width, values, places);
  else if constexpr (S == ptx::Space::shared)
    find_shared<Kind>(warp, op, request, width, values, places);
  else if constexpr (S == ptx::Space::local)
    find_local<Kind>(warp, op, request, width, values, places);
  else
    find_generic<Kind>(warp, op, request, width, values, places);
}

// The most common kind of request: neighbouring elements. If true, `first` is the address of lane 0's (or
// would be, if lane 0 were active).
template <typename Base>
bool are_neighbours(const Warp& warp, const Base* base, unsigned width, Base& first) {
  auto leader = static_cast<unsigned>(std::countr_zero(warp.mask));
  first = static_cast<Base>(base[leader] - leader * width);
  Base differs = 0;
  for (unsigned lane = 0; lane < warp_lanes; ++lane)
    differs |= (base[lane] ^ static_cast<Base>(first + lane * width)) & static_cast<Base>(warp.lanes[lane]);
  return differs == 0;
}

// The address of lane 0's element, or no_row if the lanes' elements are not neighbours.
constexpr std::uint64_t no_row = ~0ull;
std::uint64_t row_of_neighbours(Warp& warp, const Operation* op, unsigned width) {
  if (op->width == 8) {
    u64 first;
    return are_neighbours(warp, warp.row<u64>(op->a), width, first) ? first + static_cast<u64>(op->immediate)
                                                                    : no_row;
  }
  u32 first;
  return are_neighbours(warp, warp.row<u32>(op->a), width, first)
             ? static_cast<u32>(first + static_cast<u32>(op->immediate))
             : no_row;
}

// A warp that strides over an array next accesses a place that no prefetcher of the host predicts: a page or
// more away.
inline void fetch_ahead(Warp& warp, const Operation* op, std::uint64_t first, unsigned bytes) {
  constexpr std::uint64_t turns = 6, cache_line = 64;
  std::uint64_t& last = warp.worker->ranges[op->index].last;
  const std::uint64_t next = first + turns * (first - last);
  last = first;
  for (unsigned byte = 0; byte < bytes; byte += cache_line)
    __builtin_prefetch(reinterpret_cast<const void*>(next + byte));
}

// Global memory: only for a whole warp, because the elements of inactive lanes may belong to another block,
// and only for weak accesses, because other blocks must see each lane's strong access as a whole. Shared
// memory: for any lanes, as long as one pass serves them; the buffer is one row longer than what the block
// may use.
template <ptx::Space S, AccessKind Kind>
std::byte* quick_row(Warp& warp, const Operation* op, unsigned width) {
  if constexpr (S != ptx::Space::global && S != ptx::Space::shared) return nullptr;
  constexpr bool global = S == ptx::Space::global;
  if (global && is_strong(op)) return nullptr;
  if (warp.mask != all_lanes && (global || width != bank_bytes)) return nullptr;
  std::uint64_t first = row_of_neighbours(warp, op, width);
  if (first == no_row || first % width) return nullptr;
  const unsigned bytes = static_cast<unsigned>(std::bit_width(warp.mask)) * width;
  bool inside = global ? in_known_range(warp, op, first, bytes) && !warp.worker->ranges[op->index].is_peers
                       : lies_in(0, warp.worker->grid.shared_bytes(), first, bytes);
  if (!inside) return nullptr;
  if (warp.watched && (is_strong(op) || !warp.worker->grid.watcher->row({warp, *op, S, Kind, width, first})))
    return nullptr;
  const auto lanes = static_cast<unsigned>(std::popcount(warp.mask));
  OperationCounters& counters = warp.counters[op->index];
  ++counters.requests;
  counters.lanes += lanes;
  if constexpr (Kind == AccessKind::store)
    counters.own_places += is_own_place(warp, op, S, first, width) ? lanes : 0;
  if constexpr (global) {
    counters.bytes += lanes * width;
    if constexpr (Kind == AccessKind::store) counters.first_threads += warp.index == 0;
    if constexpr (Kind == AccessKind::load) {
      fetch_ahead(warp, op, first, bytes);
      count_read(warp, op, warp.from_global, width);
      warp.from_global.reach(first, bytes);
    }
    counters.sectors += contiguous_sectors(first, bytes);
    return reinterpret_cast<std::byte*>(first);
  }
  if constexpr (Kind == AccessKind::load) count_read(warp, op, warp.from_shared, width);
  unsigned passes = std::max(1u, width / bank_bytes); // no two lanes of a pass use the same bank
  counters.wavefronts += passes;
  counters.ideal_wavefronts += passes;
  return warp.block->shared.data() + first;
}

// A strong load may be one that waits for another block.
template <ptx::Space S>
void after_load(Warp& warp, const Operation* op) {
  if (!is_strong(op)) return;
  order_after_load(static_cast<MemoryOrder>(op->order));
  tell_read(warp);
  note_possible_spin(warp, op, S == ptx::Space::shared ? spin_cost : global_spin_cost);
}

template <typename T, typename R, ptx::Space S>
const Operation* load(Warp& warp, const Operation* op) {
  R* d = warp.row<R>(op->d);
  if (const std::byte* row = quick_row<S, AccessKind::load>(warp, op, sizeof(T))) {
    const T* from = reinterpret_cast<const T*>(row);
    write_lanes(warp, d, [=](unsigned lane) { return widened<R>(from[lane]); });
    after_load<S>(warp, op);
    return op + 1;
  }
  Places places;
  find_places<S, AccessKind::load>(warp, op, sizeof(T), places);
  if (places.first && !is_strong(op)) {
    const T* from = reinterpret_cast<const T*>(places.first);
    write_lanes(warp, d, [=](unsigned lane) { return widened<R>(from[lane]); });
  } else {
    each_active(warp,
                [&](unsigned lane) { d[lane] = widened<R>(load_whole<T>(places.of(lane, sizeof(T)))); });
  }
  after_load<S>(warp, op);
  return op + 1;
}

// A store changes memory unless differs(lane) is false for every lane, which is only asked when it matters.
template <ptx::Space S, typename Differs>
inline void note_change(Warp& warp, Differs differs) {
  if (S == ptx::Space::local || warp.changes) return;
  if (!warp.worker->compares_stores)
    warp.changes = true;
  else
    each_active(warp, [&](unsigned lane) { warp.changes |= differs(lane); });
}

template <typename T, typename R, ptx::Space S>
const Operation* store(Warp& warp, const Operation* op) {
  const R* from = warp.row<R>(op->d);
  const auto differs_at = [=](const std::byte* place, unsigned lane) {
    const T value = static_cast<T>(from[lane]);
    return std::memcmp(place, &value, sizeof(T)) != 0;
  };
  if (std::byte* row = quick_row<S, AccessKind::store>(warp, op, sizeof(T))) {
    note_change<S>(warp, [=](unsigned lane) { return differs_at(row + lane * sizeof(T), lane); });
    write_lanes(warp, reinterpret_cast<T*>(row), [=](unsigned lane) { return static_cast<T>(from[lane]); });
    return op + 1;
  }
  Places places;
  find_places<S, AccessKind::store>(warp, op, sizeof(T), places, {warp.frame + op->d, sizeof(R)});
  note_change<S>(warp, [&](unsigned lane) { return differs_at(places.of(lane, sizeof(T)), lane); });
  order_before_store(static_cast<MemoryOrder>(op->order));
  if (places.first && !is_strong(op) && (warp.mask == all_lanes || S == ptx::Space::shared)) {
    T* to = reinterpret_cast<T*>(places.first);
    write_lanes(warp, to, [=](unsigned lane) { return static_cast<T>(from[lane]); });
  } else {
    // Must not read and write back what inactive lanes point to: it may belong to another block.
    each_active(
        warp, [&](unsigned lane) { store_whole<T>(places.of(lane, sizeof(T)), static_cast<T>(from[lane])); });
  }
  return op + 1;
}

// Vectors: the elements of a lane are adjacent in memory, and each has a register of its own. A lane's vector
// is moved as a whole, except in rows that no other block can be writing at this time. N: the number of
// elements if rows are likely, else 0.
template <typename T, typename R, unsigned N, ptx::Space S>
const Operation* load_vector(Warp& warp, const Operation* op) {
  if constexpr (N != 0) {
    if (const std::byte* row = quick_row<S, AccessKind::load>(warp, op, N * sizeof(T))) {
      const T* from = reinterpret_cast<const T*>(row);
      const std::uint32_t* rows = warp.worker->grid.code.lists.data() + op->list;
      R *d0 = warp.row<R>(rows[0]), *d1 = warp.row<R>(rows[1]), *d2 = warp.row<R>(rows[N - 2]),
        *d3 = warp.row<R>(rows[N - 1]);
#pragma GCC ivdep
      for (unsigned lane = 0; lane < warp_lanes;
           ++lane) { // one loop, so that the compiler reads whole vectors
        d0[lane] = from[lane * N];
        d1[lane] = from[lane * N + 1];
        if constexpr (N == 4) d2[lane] = from[lane * N + 2], d3[lane] = from[lane * N + 3];
      }
      return op + 1;
    }
  }
  const unsigned count = N ? N : std::min(op->e, widest_access) / static_cast<unsigned>(sizeof(T));
  Places places;
  find_places<S, AccessKind::load>(warp, op, op->e, places);
  const std::uint32_t* rows = warp.worker->grid.code.lists.data() + op->list;
  each_active(warp, [&](unsigned lane) {
    alignas(16) std::byte elements[widest_access] = {};
    load_whole(elements, places.of(lane, op->e), op->e);
    for (unsigned i = 0; i < count; ++i)
      warp.row<R>(rows[i])[lane] = widened<R>(read<T>(elements + i * sizeof(T)));
  });
  after_load<S>(warp, op);
  return op + 1;
}

template <typename T, typename R, unsigned N, ptx::Space S>
const Operation* store_vector(Warp& warp, const Operation* op) {
  const unsigned count = N ? N : std::min(op->e, widest_access) / static_cast<unsigned>(sizeof(T));
  const std::uint32_t* rows = warp.worker->grid.code.lists.data() + op->list;
  alignas(16) std::byte elements[warp_lanes][widest_access];
  each_active(warp, [&](unsigned lane) {
    for (unsigned i = 0; i < count; ++i) {
      const T value = static_cast<T>(warp.row<R>(rows[i])[lane]);
      std::memcpy(elements[lane] + i * sizeof(T), &value, sizeof(T));
    }
  });
  Places places;
  find_places<S, AccessKind::store>(warp, op, op->e, places, {elements[0], widest_access});
  note_change<S>(
      warp, [&](unsigned lane) { return std::memcmp(places.of(lane, op->e), elements[lane], op->e) != 0; });
  order_before_store(static_cast<MemoryOrder>(op->order));
  each_active(warp, [&](unsigned lane) { store_whole(places.of(lane, op->e), elements[lane], op->e); });
  return op + 1;
}

// The kernel's parameters are the same for all lanes.
template <typename T, typename R>
const Operation* load_kernel_parameter(Warp& warp, const Operation* op) {
  R value = widened<R>(read<T>(warp.worker->grid.parameters.data() + op->immediate));
  write_lanes(warp, warp.row<R>(op->d), [=](unsigned) { return value; });
  return op + 1;
}

// A function's parameters and results are in its frame, `e` bytes per lane.
template <typename T, typename R>
const Operation* load_slot(Warp& warp, const Operation* op) {
  const std::byte* from = warp.frame + op->a + op->immediate;
  R* d = warp.row<R>(op->d);
  each_active(warp, [&](unsigned lane) { d[lane] = widened<R>(read<T>(from + lane * op->e)); });
  return op + 1;
}
template <typename T, typename R>
const Operation* store_slot(Warp& warp, const Operation* op) {
  std::byte* to = warp.frame + op->a + op->immediate;
  const R* from = warp.row<R>(op->d);
  each_active(warp, [&](unsigned lane) {
    T value = static_cast<T>(from[lane]);
    std::memcpy(to + lane * op->e, &value, sizeof(T));
  });
  return op + 1;
}

enum class Family : std::uint8_t {
  load,
  store,
  load_slot,
  store_slot,
  kernel_parameter,
  load_vector,
  store_vector
};

template <typename T, typename R, Family F>
Handler by_space(ptx::Space space, unsigned elements) {
  auto with = [&]<ptx::Space S>(std::integral_constant<ptx::Space, S>) -> Handler {
    if constexpr (F == Family::load) return load<T, R, S>;
    if constexpr (F == Family::store) return store<T, R, S>;
    constexpr bool quick = sizeof(T) == sizeof(R) && sizeof(T) >= 4;
    if constexpr (F == Family::load_vector) {
      if constexpr (quick && S == ptx::Space::global) {
        if (elements == 2) return load_vector<T, R, 2, S>;
        if (elements == 4) return load_vector<T, R, 4, S>;
      }
      return load_vector < T, R, 0, S == ptx::Space::global ? ptx::Space::generic : S > ;
    }
    if constexpr (F == Family::store_vector) {
      if constexpr (quick && S == ptx::Space::global) {
        if (elements == 2) return store_vector<T, R, 2, S>;
        if (elements == 4) return store_vector<T, R, 4, S>;
      }
      return store_vector < T, R, 0, S == ptx::Space::global ? ptx::Space::generic : S > ;
    }
    return nullptr;
  };
  if constexpr (F == Family::load_slot)
    return load_slot<T, R>;
  else if constexpr (F == Family::store_slot)
    return store_slot<T, R>;
  else if constexpr (F == Family::kernel_parameter)
    return load_kernel_parameter<T, R>;
  else
    switch (space) {
    case ptx::Space::global:
    case ptx::Space::constant:
      return with(std::integral_constant<ptx::Space, ptx::Space::global>{});
    case ptx::Space::shared:
      return with(std::integral_constant<ptx::Space, ptx::Space::shared>{});
    case ptx::Space::local:
      return with(std::integral_constant<ptx::Space, ptx::Space::local>{});
    default:
      return with(std::integral_constant<ptx::Space, ptx::Space::generic>{});
    }
}

template <typename T, Family F>
Handler by_register(unsigned held, ptx::Space space, unsigned elements) {
  if constexpr (sizeof(T) <= 2)
    if (held == 2) return by_space<T, std::conditional_t<std::is_signed_v<T>, s16, u16>, F>(space, elements);
  if constexpr (sizeof(T) <= 4)
    if (held == 4) return by_space<T, std::conditional_t<std::is_signed_v<T>, s32, u32>, F>(space, elements);
  if (held == 8) return by_space<T, std::conditional_t<std::is_signed_v<T>, s64, u64>, F>(space, elements);
  return nullptr;
}

// Signs matter only if a load widens.
template <Family F>
Handler by_type(ptx::Type type, unsigned held, ptx::Space space, unsigned elements) {
  std::size_t bytes = ptx::size_of(type);
  bool is_signed = type == ptx::Type::s8 || type == ptx::Type::s16 || type == ptx::Type::s32;
  constexpr bool loads = F == Family::load || F == Family::load_vector || F == Family::load_slot ||
                         F == Family::kernel_parameter;
  if constexpr (loads) {
    if (is_signed && bytes < held) {
      if (bytes == 1) return by_register<s8, F>(held, space, elements);
      if (bytes == 2) return by_register<s16, F>(held, space, elements);
      return by_register<s32, F>(held, space, elements);
    }
  }
  switch (bytes) {
  case 1:
    return by_register<u8, F>(held, space, elements);
  case 2:
    return by_register<u16, F>(held, space, elements);
  case 4:
    return by_register<u32, F>(held, space, elements);
  case 8:
    return by_register<u64, F>(held, space, elements);
  default:
    return nullptr;
  }
}

unsigned held_width(const Decoder& decoder, const ptx::Operand& operand, ptx::Type type) {
  unsigned width = decoder.width_of(operand);
  return width ? width : std::max(2u, static_cast<unsigned>(ptx::size_of(type)));
}

// Rows of a list's elements; all of its registers must have one width, which becomes `held`.
template <bool Stores>
std::vector<std::uint32_t> rows_of(Decoder& decoder, const ptx::Instruction& in, const MemoryForm& form,
                                   const std::vector<ptx::Operand>& elements, unsigned& held) {
  held = 0;
  for (const ptx::Operand& element : elements) {
    if (std::holds_alternative<ptx::Sink>(element.value)) continue;
    const unsigned width = held_width(decoder, element, form.type);
    if (held != 0 && width != held) refuse(in, "registers of different widths in one list");
    held = width;
  }
  if (held == 0) refuse(in);
  std::vector<std::uint32_t> rows;
  for (const ptx::Operand& element : elements)
    rows.push_back(Stores ? decoder.wide_source(element, form.type)
                          : decoder.wide_destination(element, held));
  return rows;
}

template <bool Stores>
void decode_elements(Decoder& decoder, const ptx::Instruction& in, const MemoryForm& form,
                     const Decoder::Address& address, const ptx::Operand& value) {
  const auto& elements = decoder.elements(value);
  if (elements.size() != form.elements) refuse(in);
  auto size = static_cast<unsigned>(ptx::size_of(form.type));
  if (size * form.elements > widest_access) refuse(in);
  unsigned held = 0;
  const std::vector<std::uint32_t> rows = rows_of<Stores>(decoder, in, form, elements, held);
  if (address.in_frame || address.is_kernel_parameter) {
    if (Stores && address.is_kernel_parameter) refuse(in, "a kernel cannot write its parameters");
    for (unsigned i = 0; i < rows.size(); ++i) {
      Handler run = Stores ? by_type<Family::store_slot>(form.type, held, address.space, 1)
                    : address.is_kernel_parameter
                        ? by_type<Family::kernel_parameter>(form.type, held, address.space, 1)
                        : by_type<Family::load_slot>(form.type, held, address.space, 1);
      Operation& op = decoder.emit(need(run, in), rows[i], address.row);
      op.immediate = address.offset + i * size;
      op.e = address.stride;
    }
    return;
  }
  Handler run = Stores ? by_type<Family::store_vector>(form.type, held, address.space, form.elements)
                       : by_type<Family::load_vector>(form.type, held, address.space, form.elements);
  std::uint32_t list = decoder.list(rows);
  Operation& op = decoder.emit(need(run, in));
  set_form(op, form, address, size * form.elements);
  op.list = list;
}

template <bool Stores>
void decode_access(Decoder& decoder, const ptx::Instruction& in) {
  if (Stores && in.has("async")) return decode_store_async(decoder, in);
  if (in.operands.size() < 2) refuse(in);
  MemoryForm form = memory_form(in);
  const ptx::Operand& value = in.operands[Stores ? 1 : 0];
  Decoder::Address address = decoder.address(in.operands[Stores ? 0 : 1], form.space,
                                             static_cast<unsigned>(ptx::size_of(form.type)) * form.elements);
  if (form.elements > 1) return decode_elements<Stores>(decoder, in, form, address, value);
  unsigned held = held_width(decoder, value, form.type);
  std::uint32_t row = Stores ? decoder.wide_source(value, held == 2 ? ptx::Type::b16 : form.type)
                             : decoder.wide_destination(value, held);
  if (address.in_frame || address.is_kernel_parameter) {
    Handler run = Stores ? by_type<Family::store_slot>(form.type, held, address.space, 1)
                  : address.is_kernel_parameter
                      ? by_type<Family::kernel_parameter>(form.type, held, address.space, 1)
                      : by_type<Family::load_slot>(form.type, held, address.space, 1);
    if (Stores && address.is_kernel_parameter) refuse(in, "a kernel cannot write its parameters");
    Operation& op = decoder.emit(need(run, in), row, address.row);
    op.immediate = address.offset;
    op.e = address.stride;
    return;
  }
  Handler run = Stores ? by_type<Family::store>(form.type, held, address.space, 1)
                       : by_type<Family::load>(form.type, held, address.space, 1);
  Operation& op = decoder.emit(need(run, in), row);
  set_form(op, form, address, static_cast<unsigned>(ptx::size_of(form.type)));
}

constexpr Opcode opcodes[] = {
    {"ld", decode_access<false>, Work::load},
    {"ldu", decode_access<false>, Work::load},
    {"st", decode_access<true>, Work::store},
};

} // namespace

std::span<const Opcode> memory_opcodes() {
  return opcodes;
}

} // namespace warpfold::machine
