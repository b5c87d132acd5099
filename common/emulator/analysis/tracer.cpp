#include "tracer.hpp"

#include "machine/block.hpp"
#include "naming.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <fmt/format.h>

namespace warpfold::analysis {

using machine::AccessKind;

namespace {

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

// How many elements each lane accesses: of `ld.shared.v2.f32`, two.
unsigned elements_of(const machine::Code& code, const machine::Operation& operation) {
  const std::string& name = code.names[operation.index];
  for (const unsigned count : {2u, 4u, 8u})
    if (name.find(fmt::format(".v{}.", count)) != std::string::npos) return count;
  return 1;
}

// The bytes that a lane stores, or loads from another block of the cluster; null if they are not known.
const std::byte* bytes_of(const machine::Access& access, unsigned lane) {
  if (access.values) return access.values + std::size_t{lane} * access.value_stride;
  if (!access.remote || access.kind != AccessKind::load) return nullptr;
  const std::uint64_t address = access.addresses[lane];
  return access.warp.block->cluster->blocks[machine::named_rank(address)]->shared.data() +
         (address & machine::cluster_offset_mask);
}

// What each of the lanes stores (or finds), element by element, as the unsigned number with these bits; only
// for elements of 4 and 8 bytes.
std::string bits_of(const machine::Access& access, std::uint32_t lanes, unsigned elements) {
  const std::uint32_t width = access.width / elements;
  if (width != 4 && width != 8) return "";
  std::string out;
  for (std::uint32_t mask = lanes; mask; mask &= mask - 1) {
    const std::byte* const bytes = bytes_of(access, static_cast<unsigned>(std::countr_zero(mask)));
    for (unsigned i = 0; bytes && i < elements; ++i) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, bytes + std::size_t{i} * width, width);
      out += fmt::format("{}{}", out.empty() ? "" : ",", bits);
    }
  }
  return out.empty() ? "" : fmt::format(",\"bits\":[{}]", out);
}

// The members "file" and "line".
std::string place_of(const machine::Code& code, const machine::Operation& operation) {
  const machine::SourceLine line = code.line_of(operation);
  return fmt::format("\"file\":{},\"line\":{}", quoted(line.file), line.line);
}

void add_event(std::string& events, const std::string& members) {
  events += fmt::format("{}{{{}}}", events.empty() ? "" : ",\n", members);
}

thread_local std::uint64_t call_of_next = 0;

} // namespace

void Tracer::begins_next(std::uint64_t call) {
  call_of_next = call;
}

void Tracer::reset() {
  std::lock_guard lock(mutex_);
  running_.clear(); // what still runs belongs to what is forgotten
  launches_.clear();
  left_out_ = false;
}

void Tracer::launch_begin(const machine::Grid& grid) {
  std::lock_guard lock(mutex_);
  const auto of_device = [&grid](const Launch& launch) { return launch.device == grid.device; };
  if (static_cast<std::size_t>(std::ranges::count_if(launches_, of_device)) >= most_launches) {
    left_out_ = true;
    return;
  }
  Launch& launch = launches_.emplace_back();
  running_[&grid] = &launch;
  const machine::Code& code = grid.code;
  launch.device = grid.device, launch.call = call_of_next, launch.code = &code;
  const auto& kernel = code.module->functions[code.frames[0].function];
  launch.heading = fmt::format("\"kernel\":{},\"grid\":{},\"block\":{}", quoted(std::string(kernel.name)),
                               dimensions(grid.shape.grid), dimensions(grid.shape.block));
  if (memory_.devices() > 1) launch.heading += fmt::format(",\"device\":{}", grid.device);
  for (const auto& variable : code.shared_names) {
    const std::uint64_t size = variable.size ? variable.size : grid.shared_bytes() - variable.offset;
    launch.arrays.push_back({variable_name(code, variable.offset), true, variable.offset, size});
  }
}

void Tracer::launch_end(const machine::Grid& grid) {
  std::lock_guard lock(mutex_);
  running_.erase(&grid);
}

bool Tracer::looks_on(const machine::Block& block) const {
  return block.linear_id == wanted_block_;
}

Tracer::Launch* Tracer::with_room(const machine::Block& block) {
  const auto found = running_.find(&block.worker.grid);
  if (found == running_.end()) return nullptr;
  Launch& launch = *found->second;
  launch.truncated |= launch.requests >= most_requests;
  return launch.truncated ? nullptr : &launch;
}

// The variable in another block's shared memory.
int Tracer::remote_array_of(Launch& launch, std::uint64_t address) {
  const std::uint64_t offset = address & machine::cluster_offset_mask, block = address - offset;
  for (std::size_t i = 0; i < launch.arrays.size(); ++i) {
    const Array& array = launch.arrays[i];
    if (array.begin >= block && array.holds(address)) return static_cast<int>(i);
  }
  Array array;
  for (const Array& each : launch.arrays)
    if (each.shared && each.holds(offset)) array = each;
  if (array.size == 0) return -1;
  array.begin += block;
  array.name = fmt::format("{} of rank {}", array.name, machine::named_rank(address));
  launch.arrays.push_back(std::move(array));
  return static_cast<int>(launch.arrays.size()) - 1;
}

int Tracer::array_of(Launch& launch, const machine::Access& access, std::uint64_t address) {
  if (access.remote) return remote_array_of(launch, address);
  const bool shared = access.space == ptx::Space::shared;
  auto& arrays = launch.arrays;
  int found = -1;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Array& array = arrays[i];
    // Of variables that share their place, the last one to begin, as in shared_name().
    if (array.shared == shared && array.holds(address) &&
        (found < 0 || array.begin >= arrays[static_cast<std::size_t>(found)].begin))
      found = static_cast<int>(i);
  }
  if (found >= 0 || shared) return found;
  const auto allocation = memory_.find(address);
  if (!allocation) return -1;
  arrays.push_back({allocation->label, false, allocation->begin, allocation->size});
  return static_cast<int>(arrays.size()) - 1;
}

void Tracer::access(const machine::Access& access) {
  if (access.space == ptx::Space::local || access.mask == 0 || !looks_on(*access.warp.block)) return;
  std::lock_guard lock(mutex_);
  Launch* const launch = with_room(*access.warp.block);
  if (!launch) return;
  ++launch->requests;
  // A request may go to several allocations, such as one on each device, or to several blocks of a cluster.
  for (std::uint32_t left = access.mask; left != 0;) {
    const int array = array_of(*launch, access, access.addresses[std::countr_zero(left)]);
    if (array < 0) return; // a bad access, which is reported as a hazard
    const std::uint32_t lanes = lanes_in(launch->arrays[static_cast<std::size_t>(array)], access, left);
    add_access(*launch, access, array, lanes);
    left &= ~lanes;
  }
}

// Those of the lanes that access the array that the first of them accesses.
std::uint32_t Tracer::lanes_in(const Array& array, const machine::Access& access, std::uint32_t lanes) {
  if (array.shared && !access.remote) return lanes;
  std::uint32_t found = lanes & -lanes;
  for (std::uint32_t mask = lanes; mask; mask &= mask - 1)
    if (array.holds(access.addresses[std::countr_zero(mask)])) found |= mask & -mask;
  return found;
}

void Tracer::add_access(Launch& launch, const machine::Access& access, int array, std::uint32_t lanes) {
  const std::uint64_t begin = launch.arrays[static_cast<std::size_t>(array)].begin;
  std::string offsets;
  for (std::uint32_t mask = lanes; mask; mask &= mask - 1) {
    const auto offset = static_cast<std::int64_t>(access.addresses[std::countr_zero(mask)] - begin);
    offsets += fmt::format("{}{}", offsets.empty() ? "" : ",", offset);
  }
  constexpr const char* no_wavefronts = "\"wavefronts\":0,\"ideal\":0";
  const unsigned elements = elements_of(*launch.code, access.operation);
  std::string cost;
  if (access.width > machine::widest_access) { // a bulk copy, which takes whole rows of banks
    const std::uint64_t first = access.addresses[std::countr_zero(lanes)];
    cost = access.space == ptx::Space::shared
               ? std::string(no_wavefronts)
               : fmt::format("\"sectors\":{}", machine::contiguous_sectors(first, access.width));
  } else if (access.remote) {
    cost = no_wavefronts;
  } else if (access.space == ptx::Space::shared) {
    const auto [count, ideal] = machine::wavefronts(access.addresses, lanes, access.width);
    cost = fmt::format("\"wavefronts\":{},\"ideal\":{}", count, ideal);
  } else {
    cost = fmt::format("\"sectors\":{}", machine::sectors(access.addresses, lanes, access.width));
  }
  add_event(launch.events,
            fmt::format("\"at\":\"{}\",{},\"warp\":{},\"lanes\":{},\"array\":{},\"width\":{},\"elements\":{},"
                        "\"offsets\":[{}],{}{}",
                        name_of(access.kind), place_of(*launch.code, access.operation), access.warp.index,
                        lanes, array, access.width, elements, offsets, cost,
                        bits_of(access, lanes, elements)));
}

void Tracer::barrier(const machine::Block& block, const machine::Operation& operation, unsigned barrier,
                     bool whole_block) {
  if (!looks_on(block)) return;
  std::lock_guard lock(mutex_);
  Launch* const launch = with_room(block);
  if (!launch) return;
  add_event(launch->events, fmt::format("\"at\":\"barrier\",{},\"barrier\":{},\"whole_block\":{}",
                                        place_of(*launch->code, operation), barrier, whole_block));
}

void Tracer::warp_barrier(const machine::Warp& warp, const machine::Operation& operation,
                          std::uint32_t members) {
  add_of_warp(warp, fmt::format("\"at\":\"warp_barrier\",{},\"warp\":{},\"lanes\":{}",
                                place_of(warp.worker->grid.code, operation), warp.index, members));
}

void Tracer::cluster_wait(const machine::Warp& warp, const machine::Operation& operation) {
  add_of_warp(warp, fmt::format("\"at\":\"cluster_wait\",{},\"warp\":{},\"lanes\":{}",
                                place_of(warp.worker->grid.code, operation), warp.index, warp.mask));
}

void Tracer::add_of_warp(const machine::Warp& warp, const std::string& members) {
  if (!looks_on(*warp.block)) return;
  std::lock_guard lock(mutex_);
  if (Launch* const launch = with_room(*warp.block)) add_event(launch->events, members);
}

void Tracer::bulk_write_begins(const machine::Warp& warp, const machine::Operation&, unsigned,
                               std::uint64_t offset, std::uint32_t bytes, std::uint64_t mbarrier,
                               std::uint32_t phase) {
  add_of_warp(warp,
              fmt::format("\"at\":\"bulk_write\",\"offset\":{},\"bytes\":{},\"mbarrier\":{},\"phase\":{}",
                          offset, bytes, mbarrier, phase));
}

void Tracer::phases_seen(const machine::Warp& warp, std::uint32_t, std::uint64_t mbarrier,
                         std::uint32_t phase) {
  add_of_warp(warp, fmt::format("\"at\":\"phase\",\"mbarrier\":{},\"phase\":{}", mbarrier, phase));
}

void Tracer::bulk_read_begins(const machine::Warp& warp, const machine::Operation&, unsigned lane,
                              std::uint64_t offset, std::uint32_t bytes, bool in_group) {
  if (!in_group) return;
  add_of_warp(warp, fmt::format("\"at\":\"bulk_read\",\"thread\":{},\"offset\":{},\"bytes\":{}",
                                warp.index * machine::warp_lanes + lane, offset, bytes));
}

void Tracer::bulk_committed(const machine::Warp& warp) {
  add_of_warp(warp, fmt::format("\"at\":\"bulk_commit\",\"warp\":{},\"lanes\":{}", warp.index, warp.mask));
}

void Tracer::bulk_waited_for(const machine::Warp& warp, std::uint32_t groups_left) {
  add_of_warp(warp, fmt::format("\"at\":\"bulk_wait\",\"warp\":{},\"lanes\":{},\"left\":{}", warp.index,
                                warp.mask, groups_left));
}

// Each device's in the order in which they began; of the devices', the one that the host called for first.
std::vector<const Tracer::Launch*> Tracer::in_order() const {
  std::map<int, std::deque<const Launch*>> of_devices;
  for (const Launch& launch : launches_) of_devices[launch.device].push_back(&launch);
  std::vector<const Launch*> ordered;
  while (!of_devices.empty()) {
    const auto first =
        std::ranges::min_element(of_devices, {}, [](const auto& each) { return each.second.front()->call; });
    ordered.push_back(first->second.front());
    first->second.pop_front();
    if (first->second.empty()) of_devices.erase(first);
  }
  return ordered;
}

std::string Tracer::json() const {
  std::lock_guard lock(mutex_);
  std::string launches;
  for (const Launch* launch : in_order()) {
    std::string arrays;
    for (const Array& array : launch->arrays)
      arrays += fmt::format("{}{{\"name\":{},\"space\":\"{}\",\"bytes\":{},\"offset\":{}}}",
                            arrays.empty() ? "" : ",", quoted(array.name), array.shared ? "shared" : "global",
                            array.size, array.shared ? array.begin & machine::cluster_offset_mask : 0);
    launches += fmt::format("{}{{{},\"truncated\":{},\"arrays\":[{}],\n\"events\":[\n{}]}}",
                            launches.empty() ? "" : ",\n", launch->heading, launch->truncated, arrays,
                            launch->events);
  }
  return fmt::format("{{\"block_index\":{},\"launches_left_out\":{},\"launches\":[\n{}]}}", wanted_block_,
                     left_out_, launches);
}

} // namespace warpfold::analysis
