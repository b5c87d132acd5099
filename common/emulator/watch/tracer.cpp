#include "tracer.hpp"

#include "machine/block.hpp"
#include "naming.hpp"

#include <bit>
#include <cstring>
#include <fmt/format.h>

namespace warpfold::watch {

using machine::AccessKind;

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    if (static_cast<unsigned char>(letter) < ' ')
      out += ' ';
    else
      out += letter;
  }
  return out + '"';
}

std::string dimensions(const machine::Dim3& size) {
  return fmt::format("[{},{},{}]", size.x, size.y, size.z);
}

const char* name_of(AccessKind kind) {
  return kind == AccessKind::load ? "load" : kind == AccessKind::store ? "store" : "atomic";
}

// The variable's own name, without index.
std::string variable_name(const machine::Code& code, std::uint64_t offset) {
  const std::string element = shared_name(code, offset, 1);
  return element.substr(0, element.find('['));
}

// What each active lane stores, as the unsigned number with these bits; only for 4 and 8 bytes.
std::string bits_of(const machine::Access& access) {
  if (!access.values || (access.width != 4 && access.width != 8)) return "";
  std::string out;
  for (std::uint32_t mask = access.mask; mask; mask &= mask - 1) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, access.values + static_cast<std::size_t>(std::countr_zero(mask)) * access.value_stride,
                access.width);
    out += fmt::format("{}{}", out.empty() ? "" : ",", bits);
  }
  return fmt::format(",\"bits\":[{}]", out);
}

} // namespace

void Tracer::reset() {
  std::lock_guard lock(mutex_);
  launches_.clear();
  left_out_ = false;
}

void Tracer::launch_begin(const machine::Grid& grid) {
  std::lock_guard lock(mutex_);
  grid_ = nullptr;
  left_out_ = launches_.size() >= most_launches;
  if (left_out_) return;
  grid_ = &grid;
  Launch& launch = launches_.emplace_back();
  const machine::Code& code = grid.code;
  const auto& kernel = code.module->functions[code.frames[0].function];
  launch.heading = fmt::format("\"kernel\":{},\"grid\":{},\"block\":{}", quoted(std::string(kernel.name)),
                               dimensions(grid.shape.grid), dimensions(grid.shape.block));
  for (const auto& variable : code.shared_names) {
    const std::uint64_t size = variable.size ? variable.size : grid.shared_bytes() - variable.offset;
    launch.arrays.push_back({variable_name(code, variable.offset), true, variable.offset, size});
  }
}

void Tracer::launch_end(const machine::Grid&) {
  grid_ = nullptr;
}

bool Tracer::looks_on(const machine::Block& block) const {
  return grid_ && block.linear_id == wanted_block_;
}

bool Tracer::has_room() {
  Launch& launch = launches_.back();
  launch.truncated |= launch.requests >= most_requests;
  return !launch.truncated;
}

int Tracer::array_of(const machine::Access& access, std::uint64_t address) {
  const bool shared = access.space == ptx::Space::shared;
  auto& arrays = launches_.back().arrays;
  int found = -1;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Array& array = arrays[i];
    // Of variables that share their place, the last one to begin, as in shared_name().
    if (array.shared == shared && address >= array.begin && address < array.begin + array.size &&
        (found < 0 || array.begin >= arrays[static_cast<std::size_t>(found)].begin))
      found = static_cast<int>(i);
  }
  if (found >= 0 || shared) return found;
  const auto allocation = memory_.find(address);
  if (!allocation) return -1;
  arrays.push_back({allocation->label, false, allocation->begin, allocation->size});
  return static_cast<int>(arrays.size()) - 1;
}

std::string Tracer::place_of(const machine::Operation& operation) const {
  const machine::SourceLine line = grid_->code.line_of(operation);
  return fmt::format("\"file\":{},\"line\":{}", quoted(line.file), line.line);
}

void Tracer::add_event(const std::string& members) {
  std::string& events = launches_.back().events;
  events += fmt::format("{}{{{}}}", events.empty() ? "" : ",\n", members);
}

void Tracer::access(const machine::Access& access) {
  if (access.space == ptx::Space::local || access.mask == 0 || !looks_on(*access.warp.block)) return;
  std::lock_guard lock(mutex_);
  if (!has_room()) return;
  ++launches_.back().requests;
  const int array = array_of(access, access.addresses[std::countr_zero(access.mask)]);
  if (array < 0) return; // a bad access, which is reported as a hazard
  const std::uint64_t begin = launches_.back().arrays[static_cast<std::size_t>(array)].begin;
  std::string offsets;
  for (std::uint32_t mask = access.mask; mask; mask &= mask - 1) {
    const auto offset = static_cast<std::int64_t>(access.addresses[std::countr_zero(mask)] - begin);
    offsets += fmt::format("{}{}", offsets.empty() ? "" : ",", offset);
  }
  std::string cost;
  if (access.space == ptx::Space::shared) {
    const auto [count, ideal] = machine::wavefronts(access.addresses, access.mask, access.width);
    cost = fmt::format("\"wavefronts\":{},\"ideal\":{}", count, ideal);
  } else {
    cost = fmt::format("\"sectors\":{}", machine::sectors(access.addresses, access.mask, access.width));
  }
  add_event(
      fmt::format("\"at\":\"{}\",{},\"warp\":{},\"lanes\":{},\"array\":{},\"width\":{},\"offsets\":[{}],{}{}",
                  name_of(access.kind), place_of(access.operation), access.warp.index, access.mask, array,
                  access.width, offsets, cost, bits_of(access)));
}

void Tracer::barrier(const machine::Block& block, const machine::Operation& operation, unsigned barrier,
                     bool whole_block) {
  if (!looks_on(block)) return;
  std::lock_guard lock(mutex_);
  if (!has_room()) return;
  add_event(fmt::format("\"at\":\"barrier\",{},\"barrier\":{},\"whole_block\":{}", place_of(operation),
                        barrier, whole_block));
}

void Tracer::warp_barrier(const machine::Warp& warp, const machine::Operation& operation,
                          std::uint32_t members) {
  if (!looks_on(*warp.block)) return;
  std::lock_guard lock(mutex_);
  if (!has_room()) return;
  add_event(fmt::format("\"at\":\"warp_barrier\",{},\"warp\":{},\"lanes\":{}", place_of(operation),
                        warp.index, members));
}

std::string Tracer::json() const {
  std::lock_guard lock(mutex_);
  std::string launches;
  for (const Launch& launch : launches_) {
    std::string arrays;
    for (const Array& array : launch.arrays)
      arrays += fmt::format("{}{{\"name\":{},\"space\":\"{}\",\"bytes\":{},\"offset\":{}}}",
                            arrays.empty() ? "" : ",", quoted(array.name), array.shared ? "shared" : "global",
                            array.size, array.shared ? array.begin : 0);
    launches +=
        fmt::format("{}{{{},\"truncated\":{},\"arrays\":[{}],\n\"events\":[\n{}]}}",
                    launches.empty() ? "" : ",\n", launch.heading, launch.truncated, arrays, launch.events);
  }
  return fmt::format("{{\"block_index\":{},\"launches_left_out\":{},\"launches\":[\n{}]}}", wanted_block_,
                     left_out_, launches);
}

} // namespace warpfold::watch
