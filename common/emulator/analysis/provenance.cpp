#include "provenance.hpp"

#include "machine/matrix_shapes.hpp"
#include "naming.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <set>
#include <string_view>

namespace warpfold::analysis {

using machine::AccessKind;
using machine::ValueFlow;

namespace {

constexpr unsigned widest_value = 16; // bytes

std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

// The first bytes of the value at an address.
std::uint64_t bits_at(std::uint64_t address, unsigned width) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, reinterpret_cast<const void*>(address), std::min<std::size_t>(width, sizeof bits));
  return bits;
}

template <typename Visit>
void each_lane(std::uint32_t lanes, Visit visit) {
  for (; lanes; lanes &= lanes - 1) visit(static_cast<unsigned>(std::countr_zero(lanes)));
}

std::uint64_t in_frame(const machine::Warp& warp, const ValueFlow::Place& place, unsigned lane) {
  return address_of(warp.frame + place.row + lane * place.stride);
}

// Of the lane's bytes, in this process.
std::uint64_t key_of(const machine::Access& access, unsigned lane) {
  const machine::Block& block = *access.warp.block;
  if (access.remote)
    return address_of(block.cluster->blocks[machine::named_rank(access.addresses[lane])]->shared.data()) +
           (access.addresses[lane] & machine::cluster_offset_mask);
  if (access.space == ptx::Space::shared) return address_of(block.shared.data()) + access.addresses[lane];
  if (access.space == ptx::Space::local)
    return address_of(access.warp.local_memory) + lane * block.worker.local_stride + access.addresses[lane];
  return access.addresses[lane];
}

} // namespace

Provenance::Cell& Provenance::cell(std::uint64_t address) {
  return pages_[address / std::tuple_size_v<Page>][address % std::tuple_size_v<Page>];
}

Provenance::Cell* Provenance::find(std::uint64_t address) {
  const auto page = pages_.find(address / std::tuple_size_v<Page>);
  if (page == pages_.end()) return nullptr;
  Cell& found = page->second[address % std::tuple_size_v<Page>];
  return found.width ? &found : nullptr;
}

// Those that hold a byte of the range, in order.
std::vector<std::pair<std::uint64_t, Provenance::Cell*>> Provenance::cells_in(std::uint64_t begin,
                                                                              std::uint64_t bytes) {
  std::vector<std::pair<std::uint64_t, Cell*>> found;
  for (std::uint64_t at = begin - std::min<std::uint64_t>(begin, widest_value - 1); at < begin + bytes; ++at)
    if (Cell* const held = find(at); held && at + held->width > begin) found.emplace_back(at, held);
  return found;
}

Provenance::NodeId Provenance::add(Node node, const std::vector<Value>& operands) {
  if (nodes_.size() >= most_nodes) {
    complete_ = false;
    return constant;
  }
  node.first_operand = static_cast<std::uint32_t>(operands_.size());
  node.operands = static_cast<std::uint32_t>(operands.size());
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  nodes_.push_back(node);
  return static_cast<NodeId>(first_node + nodes_.size() - 1);
}

// Of bare values alone, no node is made.
Provenance::NodeId Provenance::combined(Node::Kind kind, unsigned width, std::uint64_t bits,
                                        const std::vector<Value>& operands, const Where& where) {
  NodeId most = constant;
  for (const Value& operand : operands) most = std::max(most, operand.node);
  if (most < first_node) return kind == Node::Kind::selected ? operands[0].node : most;
  return add({.kind = kind, .width = static_cast<std::uint8_t>(width), .where = where, .bits = bits},
             operands);
}

Provenance::Value Provenance::read(std::uint64_t address, unsigned width, const Where& where,
                                   bool in_memory) {
  const auto leaf = [&](std::uint64_t at, unsigned bytes) -> Value {
    if (!in_memory) return {constant, bits_at(at, bytes)};
    const std::uint64_t bits = bits_at(at, bytes);
    return {add({.kind = Node::Kind::loaded,
                 .width = static_cast<std::uint8_t>(bytes),
                 .where = where,
                 .bits = bits,
                 .address = at},
                {}),
            bits};
  };
  if (Cell* const whole = find(address); whole && whole->width == width) {
    whole->read = true;
    return {whole->node, bits_at(address, width)};
  }
  const auto held = cells_in(address, width);
  if (held.empty()) return leaf(address, width);
  std::vector<Value> parts;
  std::uint64_t next = address;
  for (const auto& [at, part] : held) {
    if (at > next) parts.push_back(leaf(next, static_cast<unsigned>(at - next)));
    part->read = true;
    parts.push_back({part->node, bits_at(at, part->width)});
    next = at + part->width;
  }
  if (next < address + width) parts.push_back(leaf(next, static_cast<unsigned>(address + width - next)));
  if (parts.size() == 1) return {parts[0].node, bits_at(address, width)};
  const std::uint64_t bits = bits_at(address, width);
  return {combined(Node::Kind::packed, width, bits, parts, where), bits};
}

void Provenance::write(std::uint64_t address, unsigned width, NodeId node, const Where* stored) {
  if (Cell* const whole = find(address); !whole || whole->width != width)
    for (const auto& [at, part] : cells_in(address, width)) part->width = 0;
  cell(address) = {.node = node,
                   .width = static_cast<std::uint8_t>(width),
                   .in_memory = stored != nullptr,
                   .read = false,
                   .stored = stored ? *stored : Where{}};
}

void Provenance::clear(const void* begin, std::size_t bytes) {
  constexpr std::uint64_t page_size = std::tuple_size_v<Page>;
  for (std::uint64_t at = address_of(begin), end = at + bytes; at < end;) {
    const std::uint64_t stop = std::min(end, (at / page_size + 1) * page_size);
    if (const auto page = pages_.find(at / page_size); page != pages_.end())
      for (std::uint64_t each = at; each < stop; ++each) page->second[each % page_size].width = 0;
    at = stop;
  }
}

void Provenance::overwritten_by_host(const void* begin, std::size_t bytes) {
  for (const auto& [at, held] : cells_in(address_of(begin), bytes))
    if (held->in_memory && held->node >= first_node && !held->read)
      losses_.push_back({held->node, name_in_memory(at, held->width), held->stored, true, {}});
  clear(begin, bytes);
}

std::uint32_t Provenance::place_of(const machine::Code& code, const machine::Operation& operation,
                                   std::string_view conversion) {
  const auto [entry, is_new] =
      place_numbers_.try_emplace({&code, operation.index, !conversion.empty()}, places_.size());
  if (is_new) {
    const machine::SourceLine line = code.line_of(operation);
    const std::string name(conversion.empty() ? code.names[operation.index] : conversion);
    places_.push_back(
        fmt::format("[{},{},{},{},\"\"]", quoted(name), quoted(line.file), line.line, line.call_line));
  }
  return entry->second;
}

std::uint32_t Provenance::place_of(const LibraryCall& by) {
  const auto [entry, is_new] = library_places_.try_emplace(by, places_.size());
  if (is_new) {
    const std::size_t colon = by.place.rfind(':');
    const std::string line = colon == by.place.npos ? "" : by.place.substr(colon + 1);
    const bool is_line = !line.empty() && line.find_first_not_of("0123456789") == line.npos;
    places_.push_back(fmt::format("[{},{},{},0,{}]", quoted(by.operation), quoted(by.place.substr(0, colon)),
                                  is_line ? line : "0", quoted(by.call)));
  }
  return entry->second;
}

Provenance::Where Provenance::where(const machine::Warp& warp, const machine::Operation& operation,
                                    unsigned lane) {
  const machine::Grid& grid = warp.worker->grid;
  return {place_of(grid.code, operation), running_.at(&grid).number,
          static_cast<std::uint32_t>(warp.block->linear_id), warp.index * machine::warp_lanes + lane};
}

Provenance::Value Provenance::source(const machine::Warp& warp, const ValueFlow::Place& place,
                                     unsigned lane) {
  using Origin = ValueFlow::Origin;
  const std::uint64_t address = in_frame(warp, place, lane);
  const std::uint64_t bits = place.row ? bits_at(address, place.width) : 0;
  switch (place.origin) {
  case Origin::constant:
    return {constant, bits};
  case Origin::argument:
    return {argument, bits};
  case Origin::thread:
    return {thread, bits};
  case Origin::followed:
    break;
  }
  return read(address, place.width, {}, false);
}

namespace {

// Values are not followed through fragments of wmma, textures, surfaces and asynchronous stores.
bool moves_values_unseen(const machine::Grid& grid) {
  constexpr std::string_view unseen[] = {"wmma.",     "ldmatrix", "stmatrix", "movmatrix", "st.async",
                                         "red.async", "tex.",     "tld4.",    "suld.",     "sust."};
  return std::ranges::any_of(grid.code.names, [&](std::string_view name) {
    return std::ranges::any_of(unseen, [&](std::string_view each) { return name.starts_with(each); });
  });
}

// The lines in which the kernel loads from global memory, whether it gets there or not, as JSON.
std::string lines_of_loads(const machine::Code& code) {
  constexpr std::string_view elsewhere[] = {".param", ".shared", ".local", ".const"};
  std::set<unsigned> lines;
  for (const machine::Operation& operation : code.operations) {
    const std::string_view name = code.names[operation.index];
    const bool is_load =
        name.starts_with("ld.") && std::ranges::none_of(elsewhere, [&](std::string_view space) {
          return name.find(space) != name.npos;
        });
    if (is_load) lines.insert(code.line_of(operation).line);
  }
  std::string text;
  for (const unsigned line : lines) text += fmt::format("{}{}", text.empty() ? "" : ",", line);
  return fmt::format("[{}]", text);
}

} // namespace

void Provenance::launch_begin(const machine::Grid& grid) {
  std::lock_guard lock(mutex_);
  running_[&grid].number = static_cast<std::uint32_t>(launches_.size());
  if (moves_values_unseen(grid)) complete_ = false;
  const auto& kernel = grid.code.module->functions[grid.code.frames[0].function];
  const auto is_row = [](const machine::Dim3& size) { return size.y == 1 && size.z == 1; };
  launches_.push_back(fmt::format("[{},{},{},{},{},{}]", quoted(std::string(kernel.name)),
                                  grid.shape.grid.count(), grid.shape.block.count(), grid.device,
                                  is_row(grid.shape.grid) && is_row(grid.shape.block),
                                  lines_of_loads(grid.code)));
}

// What a call left in frames of its own is of no interest any more.
void Provenance::launch_end(const machine::Grid& grid) {
  std::lock_guard lock(mutex_);
  running_.erase(&grid);
  if (!running_.empty()) return; // other devices' registers
  for (auto& [number, page] : pages_)
    for (Cell& each : page)
      if (!each.in_memory) each.width = 0;
}

// A block's storage may have been another's before.
void Provenance::block_begin(const machine::Block& block) {
  std::lock_guard lock(mutex_);
  clear(block.frames.data(), block.frames.size());
  clear(block.shared.data(), block.shared.size());
  if (block.local) clear(block.local->data(), block.local->size());
}

void Provenance::block_end(const machine::Block& block) {
  {
    std::lock_guard lock(mutex_);
    lose_shared(block);
  }
  block_begin(block);
}

void Provenance::lose_shared(const machine::Block& block) {
  const std::uint64_t begin = address_of(block.shared.data());
  for (const auto& [at, held] : cells_in(begin, block.worker.grid.shared_bytes()))
    if (held->node >= first_node && !held->read)
      losses_.push_back({.node = held->node,
                         .place = shared_name(block.worker.grid.code, at - begin, held->width),
                         .stored = held->stored,
                         .by = {}});
}

// "input[3]".
std::string Provenance::name_in_memory(std::uint64_t address, unsigned width) const {
  const auto allocation = memory_.find(address);
  const std::string size = allocation ? fmt::format(" ({} bytes)", allocation->size) : "";
  if (!allocation || address < allocation->origin || (address - allocation->origin) % width)
    return global_name(memory_, address, width);
  std::string name = allocation->label.ends_with(size)
                         ? allocation->label.substr(0, allocation->label.size() - size.size())
                         : allocation->label;
  if (allocation->end() - allocation->origin == width) return name;
  const std::uint64_t index = (address - allocation->origin) / width;
  return name.find(' ') == name.npos ? fmt::format("{}[{}]", name, index)
                                     : fmt::format("element {} of {}", index, name);
}

std::string Provenance::name_of(const machine::Access& access, unsigned lane, unsigned width) const {
  return access.space == ptx::Space::shared
             ? shared_name(access.warp.worker->grid.code,
                           access.addresses[lane] & machine::cluster_offset_mask, width)
         : access.space == ptx::Space::global ? name_in_memory(access.addresses[lane], width)
                                              : "its local memory";
}

void Provenance::load(const machine::Access& access, const ValueFlow& flow, unsigned lane) {
  const std::uint64_t key = key_of(access, lane);
  if (flow.to.empty()) { // cp.async: it also stores
    running_.at(&access.warp.worker->grid).copied_from[lane] = key;
    return;
  }
  const auto width = access.width / static_cast<unsigned>(flow.to.size());
  const Where here = where(access.warp, access.operation, lane);
  for (unsigned i = 0; i < flow.to.size(); ++i) {
    const Value value = read(key + i * width, width, here, true);
    write(in_frame(access.warp, flow.to[i], lane), flow.to[i].width, value.node, nullptr);
  }
}

namespace {

// Of a store that is narrower than its register: not where the other bits only repeat the sign.
bool loses_bits(std::uint64_t bits, unsigned width, unsigned of_register) {
  if (width >= of_register) return false;
  const unsigned cut = 64 - 8 * width, cut_of_register = 64 - 8 * of_register;
  const auto whole = static_cast<std::int64_t>(bits << cut_of_register) >> cut_of_register;
  return whole != static_cast<std::int64_t>(bits << cut) >> cut && bits << cut >> cut != bits;
}

} // namespace

void Provenance::store(const machine::Access& access, const ValueFlow& flow, unsigned lane) {
  const std::uint64_t key = key_of(access, lane);
  const Where here = where(access.warp, access.operation, lane);
  if (flow.from.empty())
    return carry(key, running_.at(&access.warp.worker->grid).copied_from[lane], access.width,
                 here); // cp.async
  const auto width = access.width / static_cast<unsigned>(flow.from.size());
  for (unsigned i = 0; i < flow.from.size(); ++i) {
    Value value = source(access.warp, flow.from[i], lane);
    if (loses_bits(value.bits, width, flow.from[i].width)) {
      const std::uint64_t kept = value.bits & ((std::uint64_t{1} << 8 * width) - 1);
      Where narrowed = here;
      narrowed.place = place_of(access.warp.worker->grid.code, access.operation,
                                fmt::format("cvt.u{}.u{}", 8 * width, 8 * flow.from[i].width));
      value = {combined(Node::Kind::computed, width, kept, {value}, narrowed), kept};
    }
    if (const Cell* const old = find(key + i * width);
        old && old->node >= first_node && !old->read && old->node != value.node)
      losses_.push_back({old->node, name_of(access, lane, width), old->stored, true, here});
    write(key + i * width, width, value.node, &here);
  }
}

// `swapped`: by address, the bits that a compare-and-swap of an earlier lane of this request puts there.
void Provenance::update(const machine::Access& access, const ValueFlow& flow, unsigned lane,
                        std::map<std::uint64_t, std::uint64_t>& swapped) {
  const std::uint64_t key = key_of(access, lane);
  const Where here = where(access.warp, access.operation, lane);
  const std::string_view name = access.warp.worker->grid.code.names[access.operation.index];
  const auto is = [name](std::string_view modifier) { return name.find(modifier) != name.npos; };
  const Cell* const cell = find(key);
  const bool is_unread = cell && cell->in_memory && !cell->read && cell->node >= first_node;
  const Where stored = cell ? cell->stored : Where{};
  const Value old = read(key, access.width, here, true);
  if (flow.from.empty() && access.order >= machine::MemoryOrder::release)
    return write(key, access.width, thread, &here); // the mbarrier of a bulk copy
  if (flow.from.empty()) {                          // a bulk reduction, element by element
    std::uint64_t& next = running_.at(&access.warp.worker->grid).copied_from[lane];
    const Value added = read(next, access.width, here, true);
    next += access.width;
    return write(key, access.width, combined(Node::Kind::computed, access.width, 0, {old, added}, here),
                 &here);
  }
  const Value value = source(access.warp, flow.from[0], lane);
  if (!flow.to.empty()) write(in_frame(access.warp, flow.to[0], lane), flow.to[0].width, old.node, nullptr);
  if (is(".cas")) {
    const auto before = swapped.find(key);
    if ((before == swapped.end() ? old.bits : before->second) != value.bits) return;
    const Value wanted = source(access.warp, flow.from.at(1), lane);
    swapped[key] = wanted.bits;
    return write(key, access.width, wanted.node, &here);
  }
  if (is(".exch")) { // what it returns may go into nothing
    if (is_unread && old.node != value.node)
      losses_.push_back({old.node, name_of(access, lane, access.width), stored, true, here});
    return write(key, access.width, value.node, &here);
  }
  write(key, access.width, combined(Node::Kind::computed, access.width, 0, {old, value}, here), &here);
}

void Provenance::access(const machine::Access& access) {
  std::lock_guard lock(mutex_);
  const ValueFlow* const flow = access.warp.worker->grid.code.flow(access.operation);
  if (!flow) return;
  std::map<std::uint64_t, std::uint64_t> swapped;
  each_lane(access.mask, [&](unsigned lane) {
    switch (access.kind) {
    case AccessKind::load:
      return load(access, *flow, lane);
    case AccessKind::store:
      return store(access, *flow, lane);
    case AccessKind::atomic:
      return update(access, *flow, lane, swapped);
    }
  });
}

// A lane that takes no part gives 0 (warp_wide.cpp).
Provenance::NodeId Provenance::exchanged(const machine::Warp& warp, const ValueFlow& flow, unsigned lane) {
  const auto number = [&](std::size_t i) {
    return static_cast<std::uint32_t>(bits_at(in_frame(warp, flow.from.at(i), lane), sizeof(std::uint32_t)));
  };
  const unsigned from = flow.source_lane(lane, number(1), number(2));
  const Value given = source(warp, flow.from[0], from);
  const std::uint64_t got = bits_at(in_frame(warp, flow.to[0], lane), flow.to[0].width);
  return from != lane && got == 0 && given.bits != 0 ? NodeId{constant} : given.node;
}

std::vector<Provenance::Value> Provenance::sources(const machine::Warp& warp, const ValueFlow& flow,
                                                   unsigned lane) {
  std::vector<Value> values;
  for (const ValueFlow::Place& place : flow.from) values.push_back(source(warp, place, lane));
  return values;
}

void Provenance::about_to_overwrite(const machine::Warp& warp, const machine::Operation& operation,
                                    std::uint32_t lanes) {
  std::lock_guard lock(mutex_);
  const ValueFlow& flow = *warp.worker->grid.code.flow(operation);
  each_lane(lanes,
            [&](unsigned lane) { running_.at(&warp.worker->grid).before[lane] = sources(warp, flow, lane); });
}

void Provenance::executed(const machine::Warp& warp, const machine::Operation& operation,
                          std::uint32_t lanes) {
  using Kind = ValueFlow::Kind;
  const machine::Code& code = warp.worker->grid.code;
  const ValueFlow* const flow = code.flow(operation);
  if (!flow || flow->kind == Kind::accessed || flow->last_operation != operation.index) return;
  std::lock_guard lock(mutex_);
  const ValueFlow::Place& to = flow->to[0];
  std::array<NodeId, machine::warp_lanes> nodes{}; // of all lanes, before any of them is changed
  const auto result = [&](unsigned lane) { return bits_at(in_frame(warp, to, lane), to.width); };
  const auto all_sources = [&](unsigned lane) {
    return flow->overwrites_source ? std::move(running_.at(&warp.worker->grid).before[lane])
                                   : sources(warp, *flow, lane);
  };
  switch (flow->kind) {
  case Kind::computed:
  case Kind::packed:
    each_lane(lanes, [&](unsigned lane) {
      nodes[lane] = combined(flow->kind == Kind::packed ? Node::Kind::packed : Node::Kind::computed, to.width,
                             result(lane), all_sources(lane), where(warp, operation, lane));
    });
    break;
  case Kind::copied:
    each_lane(lanes, [&](unsigned lane) { nodes[lane] = source(warp, flow->from[0], lane).node; });
    break;
  case Kind::selected: {
    const std::uint32_t first = *reinterpret_cast<const std::uint32_t*>(warp.frame + flow->chooser) ^
                                (flow->chooser_negated ? machine::all_lanes : 0);
    each_lane(lanes, [&](unsigned lane) {
      std::vector<Value> values = all_sources(lane);
      if (!(first >> lane & 1)) std::swap(values.at(0), values.at(1));
      nodes[lane] =
          combined(Node::Kind::selected, to.width, result(lane), values, where(warp, operation, lane));
    });
    break;
  }
  case Kind::exchanged:
    each_lane(lanes, [&](unsigned lane) { nodes[lane] = exchanged(warp, *flow, lane); });
    break;
  case Kind::warp_reduced: {
    std::vector<Value> values;
    each_lane(lanes, [&](unsigned lane) { values.push_back(source(warp, flow->from[0], lane)); });
    const auto first = static_cast<unsigned>(std::countr_zero(lanes));
    const NodeId node =
        combined(Node::Kind::computed, to.width, result(first), values, where(warp, operation, first));
    nodes.fill(node);
    break;
  }
  case Kind::multiplied: {
    if (lanes != machine::all_lanes) return; // it is refused
    std::array<std::vector<Value>, machine::warp_lanes> given;
    each_lane(lanes, [&](unsigned lane) { given[lane] = all_sources(lane); });
    return multiplied(warp, operation, given);
  }
  case Kind::unrelated:
    nodes.fill(!flow->from.empty() ? NodeId{argument} : NodeId{thread});
    break;
  case Kind::accessed:
    return;
  }
  each_lane(lanes, [&](unsigned lane) {
    const NodeId node = nodes[lane];
    const Node* const whole = node >= first_node ? &nodes_[node - first_node] : nullptr;
    const bool in_parts = whole && whole->kind == Node::Kind::packed && whole->operands == flow->to.size();
    for (std::size_t i = 0; i < flow->to.size(); ++i)
      write(in_frame(warp, flow->to[i], lane), flow->to[i].width,
            in_parts && flow->to.size() > 1 ? operands_[whole->first_operand + i].node : node, nullptr);
  });
}

// Each accumulator: what it was before, and then pairs of factors.
void Provenance::multiplied(const machine::Warp& warp, const machine::Operation& operation,
                            const std::array<std::vector<Value>, machine::warp_lanes>& given) {
  const ValueFlow& flow = *warp.worker->grid.code.flow(operation);
  const auto& [rows, columns, of_a, of_b] = flow.product;
  const std::size_t sums = flow.to.size(), packed = rows * columns / machine::warp_lanes / sums;
  const unsigned pairs = of_a * machine::lanes_of_group / (rows / machine::lines_of_register);
  for (unsigned lane = 0; lane < machine::warp_lanes; ++lane)
    for (unsigned i = 0; i < sums; ++i) {
      const ValueFlow::Place& to = flow.to[i];
      std::vector<Value> values{given[lane].at(of_a + of_b + i)};
      for (unsigned part = 0; part < packed; ++part)
        for (unsigned number = 0; number < pairs; ++number) {
          const auto place = machine::place_in_sum(rows, lane, static_cast<unsigned>(i * packed) + part);
          const auto at = machine::factors_of(place, rows, columns, number);
          values.push_back(given[at.lane_of_a].at(at.of_a));
          values.push_back(given[at.lane_of_b].at(of_a + at.of_b));
        }
      write(in_frame(warp, to, lane), to.width,
            combined(Node::Kind::computed, to.width, bits_at(in_frame(warp, to, lane), to.width), values,
                     where(warp, operation, lane)),
            nullptr);
    }
}

void Provenance::carried(const machine::Warp&, const std::byte* to, const std::byte* from,
                         std::uint32_t bytes) {
  std::lock_guard lock(mutex_);
  write(address_of(to), bytes, read(address_of(from), bytes, {}, false).node, nullptr);
}

// Cell by cell. What no kernel has written is loaded here, in words.
void Provenance::carry(std::uint64_t to, std::uint64_t from, std::size_t bytes, const Where& where) {
  for (std::size_t at = 0; at < bytes;) {
    const Cell* const held = find(from + at);
    const auto width = static_cast<unsigned>(
        held ? std::min<std::size_t>(held->width, bytes - at)
             : std::min<std::size_t>(
                   {sizeof(std::uint32_t) - (from + at) % sizeof(std::uint32_t), bytes - at}));
    const Value value = read(from + at, width, where, true);
    write(to + at, width, value.node, &where);
    at += width;
  }
}

void Provenance::copied(const void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t one_number = 8, most = 1u << 16;
  std::lock_guard lock(mutex_);
  const std::uint64_t into = address_of(to), out_of = address_of(from);
  const Where here{.launch = static_cast<std::uint32_t>(launches_.size())};
  const bool from_device = memory_.find(out_of).has_value(), to_device = memory_.find(into).has_value();
  if (bytes == 0 || (!from_device && (host_copies_.empty() || bytes > most)))
    return overwritten_by_host(to, bytes);
  if (from_device) {
    if (bytes > most && !to_device) return;
    carry(into, out_of, bytes, here);
    if (to_device) return;
    HostCopy& copy = host_copies_.emplace_back(HostCopy{.launches = here.launch, .values = {}});
    for (const auto& [at, held] : cells_in(into, bytes))
      copy.values.push_back({held->node, bits_at(at, held->width)});
    return;
  }
  // The host may have computed it from what was copied to it.
  for (std::size_t at = 0; at < bytes;) {
    const Cell* const held = find(out_of + at);
    const NodeId node = held ? held->node : NodeId{constant};
    const auto width = static_cast<unsigned>(held ? std::min<std::size_t>(held->width, bytes - at)
                                             : bytes <= one_number ? bytes
                                                                   : std::min<std::size_t>(4, bytes - at));
    const std::uint64_t bits = bits_at(out_of + at, width);
    const bool is_same = node >= first_node && nodes_[node - first_node].bits == bits;
    write(into + at, width,
          is_same ? node
                  : add({.kind = Node::Kind::host,
                         .width = static_cast<std::uint8_t>(width),
                         .where = here,
                         .bits = bits},
                        {}),
          &here);
    at += width;
  }
}

void Provenance::made(const void* result, std::span<const void* const> sources, std::size_t width,
                      std::size_t count, const LibraryCall& by) {
  std::lock_guard lock(mutex_);
  const auto bytes = static_cast<unsigned>(width);
  const Where here{.place = place_of(by), .launch = static_cast<std::uint32_t>(launches_.size())};
  for (std::uint64_t at = address_of(result), end = at + width * count, i = 0; at < end; at += width, ++i) {
    std::vector<Value> values;
    for (const void* source : sources)
      values.push_back(read(address_of(source) + i * width, bytes, here, true));
    write(at, bytes,
          by.operation.empty() ? values.at(0).node
                               : combined(Node::Kind::computed, bytes, bits_at(at, bytes), values, here),
          &here);
  }
}

void Provenance::filled(const void* begin, std::size_t bytes) {
  std::lock_guard lock(mutex_);
  overwritten_by_host(begin, bytes);
}

std::string Provenance::json(const void* results, std::size_t width, std::size_t count) {
  std::lock_guard lock(mutex_);
  std::vector<NodeId> roots;
  for (std::size_t i = 0; i < count; ++i)
    roots.push_back(read(address_of(results) + i * width, static_cast<unsigned>(width), {}, true).node);
  for (const auto& [number, page] : pages_)
    for (std::size_t i = 0; i < page.size(); ++i)
      if (const Cell& each = page[i]; each.width && each.in_memory && !each.read && each.node >= first_node)
        if (const std::uint64_t address = number * page.size() + i; memory_.find(address))
          losses_.push_back({.node = each.node,
                             .place = name_in_memory(address, each.width),
                             .stored = each.stored,
                             .by = {}});
  const auto in_json = [](const Where& at) {
    return fmt::format("[{},{},{},{}]", at.place, at.launch, at.block, at.thread);
  };
  std::string text = fmt::format("{{\"complete\":{}", complete_);
  const auto add_list = [&text](const char* name, const auto& values, auto one) {
    text += fmt::format(",\n\"{}\":[", name);
    bool first = true;
    for (const auto& each : values) {
      if (!std::exchange(first, false)) text += ',';
      one(each);
    }
    text += ']';
  };
  const auto add_value = [&text](const Value& value) {
    text += fmt::format("[{},{}]", value.node, value.bits);
  };
  const auto add_text = [&text](const std::string& one) { text += one; };
  add_list("roots", roots, [&text](NodeId root) { text += std::to_string(root); });
  add_list("launches", launches_, add_text);
  add_list("places", places_, add_text);
  add_list("nodes", nodes_, [&](const Node& node) {
    text += fmt::format("[{},{},{},{},{},{},{}]", static_cast<int>(node.kind), node.width,
                        in_json(node.where), node.bits, node.address, node.first_operand, node.operands);
  });
  add_list("operands", operands_, add_value);
  add_list("losses", losses_, [&](const Loss& loss) {
    text += fmt::format("[{},{},{},{}]", loss.node, quoted(loss.place), in_json(loss.stored),
                        loss.overwritten ? in_json(loss.by) : "null");
  });
  add_list("host_copies", host_copies_, [&](const HostCopy& copy) {
    text += fmt::format("[{}", copy.launches);
    for (const Value& value : copy.values) text += ',', add_value(value);
    text += ']';
  });
  return text + "}";
}

} // namespace warpfold::analysis
