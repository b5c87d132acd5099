#include "address_space.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace warpfold::machine {

namespace {

// 4 KiB on x86-64; on 64-bit Arm 16 or 64 KiB as well.
std::uint64_t page_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}
constexpr std::uint64_t quarantine_bytes = 64ull << 20;

std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}
std::uint64_t round_down(std::uint64_t value, std::uint64_t step) {
  return value / step * step;
}

// Access rights apply to whole pages, so memory that the host may access shares no page with anything else.
std::uint64_t alignment_of(MemoryKind kind) {
  return kind == MemoryKind::device ? AddressSpace::alignment : page_bytes();
}

// What an allocation takes from the range, including the guard zone after it. The zone is as long as the
// allocation, up to a limit, because an index that is too large by a block or two must not end up in the next
// allocation.
std::uint64_t footprint(std::uint64_t size, MemoryKind kind) {
  constexpr std::uint64_t longest_guard = 1 << 20;
  std::uint64_t guard = std::clamp(size, AddressSpace::guard_bytes, longest_guard);
  return round_up(std::max<std::uint64_t>(size, 1) + guard, alignment_of(kind));
}

// A grid strides over an array in steps of a megabyte or two. With small pages, each step misses the host's
// TLB, which takes two to three times as long as the access. This only asks for huge pages; everything works
// without them. More than 256 MiB is rarely traversed on an emulator. Sometimes a program that tests for
// index overflow accesses a few places in such an array, and then a huge page would be cleared for each few
// bytes. Reading costs nothing: a huge page that was never written is one of zeros, which all share.
// So where a few blocks stride over all of it, all these are asked for at once instead of one fault at a
// time.
constexpr std::uint64_t huge_page = 2 << 20, largest_in_huge_pages = 256 << 20;

bool has_huge_zero_page() {
  std::ifstream enabled("/sys/kernel/mm/transparent_hugepage/enabled"),
      zero("/sys/kernel/mm/transparent_hugepage/use_zero_page");
  std::string modes, used;
  return std::getline(enabled, modes) && modes.find("[never]") == modes.npos && std::getline(zero, used) &&
         used == "1";
}

void ask_for_huge_pages(std::uint64_t begin, std::uint64_t end, bool few_writes) {
  const bool is_large = end - begin > largest_in_huge_pages;
  const int advice = is_large && !few_writes ? MADV_NOHUGEPAGE : MADV_HUGEPAGE;
  begin = round_up(begin, huge_page), end = round_down(end, huge_page);
  if (begin >= end) return;
  madvise(reinterpret_cast<void*>(begin), end - begin, advice);
  static const bool can_populate = has_huge_zero_page();
  if (is_large && few_writes && can_populate)
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_READ);
}

bool is_of_host(MemoryKind kind) {
  return kind == MemoryKind::managed || kind == MemoryKind::pinned || kind == MemoryKind::registered;
}

} // namespace

AddressSpace::AddressSpace(std::uint64_t capacity, int devices) : capacity_(capacity) {
  // Addresses cost nothing until they are used: reserve enough for the capacity, its guard zones and holes.
  reserved_ = round_up(2 * capacity + (1ull << 30), page_bytes());
  void* range =
      mmap(nullptr, reserved_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) throw std::bad_alloc();
  base_ = reinterpret_cast<std::uint64_t>(range);
  share_out(devices);
}

AddressSpace::~AddressSpace() {
  munmap(reinterpret_cast<void*>(base_), reserved_);
}

bool AddressSpace::share_out(int devices) {
  std::lock_guard lock(mutex_);
  if (!allocations_.empty()) return devices == devices_;
  devices_ = devices;
  const std::uint64_t parts = static_cast<std::uint64_t>(devices) + 1;
  part_bytes_ = reserved_ / parts / huge_page * huge_page;
  for (std::uint64_t i = 0; i < parts; ++i) {
    Part& part = parts_[i];
    part.begin = base_ + i * part_bytes_;
    part.end = i + 1 < parts ? part.begin + part_bytes_ : base_ + reserved_;
    part.top = part.begin + alignment;
    part.bottom = part.end;
  }
  return true;
}

AddressSpace::Part& AddressSpace::part_of(std::uint64_t address) {
  const int device = owner(address);
  return device == no_device ? shared_part() : parts_[device];
}

void* AddressSpace::allocate(std::uint64_t size, MemoryKind kind, std::string label, int device) {
  std::lock_guard lock(mutex_);
  Part& own = parts_[device];
  return allocate_in(is_of_host(kind) ? shared_part() : own, own, size, kind, std::move(label));
}

void* AddressSpace::allocate_shared_variable(std::uint64_t size, std::string label) {
  std::lock_guard lock(mutex_);
  return allocate_in(shared_part(), parts_[0], size, MemoryKind::variable, std::move(label));
}

void* AddressSpace::allocate_in(Part& part, Part& counted_in, std::uint64_t size, MemoryKind kind,
                                std::string label) {
  const bool counted = kind == MemoryKind::device || kind == MemoryKind::managed;
  if (size > capacity() || (counted && counted_in.used + size > capacity())) throw std::bad_alloc();
  const bool at_the_lower_end = kind == MemoryKind::device;
  auto& holes = at_the_lower_end ? part.holes : part.upper_holes;
  std::uint64_t needed = footprint(size, kind), begin = 0;
  const auto is_room = [&] { return part.top + needed <= part.bottom; };
  while (!is_room() && !quarantine_.empty()) give_back_oldest();
  auto hole = holes.lower_bound(needed);
  // One that is much too large is left for later, as long as there is room elsewhere.
  if (hole != holes.end() && (hole->first < 2 * needed || !is_room())) {
    begin = hole->second;
    std::uint64_t rest = hole->first - needed;
    holes.erase(hole);
    open(part, begin, begin + needed);
    allocations_.erase(begin);
    if (rest >= alignment_of(kind)) holes.emplace(rest, begin + needed);
  } else {
    if (!is_room()) throw std::bad_alloc();
    if (at_the_lower_end) {
      begin = part.top;
      part.top = begin + needed;
      if (is_guarded_) set_rights(part, false);
    } else {
      begin = part.bottom -= needed;
    }
  }
  allocations_[begin] = {.begin = begin,
                         .size = size,
                         .kind = kind,
                         .live = true,
                         .label = std::move(label),
                         .died = 0,
                         .origin = begin,
                         .device = static_cast<int>(&counted_in - parts_),
                         .is_reusable = true};
  ask_for_huge_pages(begin, begin + size, few_writes_);
  last_allocation_ = ++changes_;
  if (counted) counted_in.used += size;
  if (is_of_host(kind)) ++of_host_;
  return reinterpret_cast<void*>(begin);
}

bool AddressSpace::add_registered(void* begin, std::uint64_t size) {
  std::lock_guard lock(mutex_);
  auto first = reinterpret_cast<std::uint64_t>(begin);
  auto next = allocations_.lower_bound(first);
  if (next != allocations_.end() && next->second.live && next->first < first + size) return false;
  if (next != allocations_.begin() && std::prev(next)->second.live && std::prev(next)->second.end() > first)
    return false;
  ++changes_;
  ++of_host_;
  allocations_[first] = {.begin = first,
                         .size = size,
                         .kind = MemoryKind::registered,
                         .live = true,
                         .label = "registered host memory",
                         .died = 0,
                         .origin = first,
                         .device = no_device,
                         .is_reusable = true};
  return true;
}

bool AddressSpace::release(void* begin) {
  std::lock_guard lock(mutex_);
  auto found = allocations_.find(reinterpret_cast<std::uint64_t>(begin));
  if (found == allocations_.end() || !found->second.live) return false;
  ++changes_;
  Allocation& allocation = found->second;
  if (is_of_host(allocation.kind)) --of_host_;
  if (allocation.kind == MemoryKind::registered) {
    allocations_.erase(found);
    return true;
  }
  allocation.live = false;
  allocation.died = changes_;
  if (allocation.pool) allocation.pool->freed(allocation.size);
  if (allocation.kind == MemoryKind::imported) {
    void* const private_again = mmap(begin, round_up(allocation.size, page_bytes()), PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (private_again == MAP_FAILED) allocation.is_reusable = false;
  }
  if (allocation.kind == MemoryKind::device || allocation.kind == MemoryKind::managed)
    parts_[allocation.device].used -= allocation.size;
  if (!allocation.is_reusable) return true;
  // Whole pages go back to the system at once; their addresses stay unused for a while.
  const std::uint64_t page = page_bytes();
  const std::uint64_t first_page = round_up(allocation.begin, page),
                      last_page = round_down(allocation.end(), page);
  if (first_page < last_page)
    madvise(reinterpret_cast<void*>(first_page), last_page - first_page, MADV_DONTNEED);
  if (allocation.kind == MemoryKind::device && allocation.size > largest_in_huge_pages) close(allocation);
  quarantine_.emplace(freed_count_++, allocation.begin);
  quarantined_ += allocation.size;
  while (quarantined_ > quarantine_bytes && quarantine_.size() > 1) give_back_oldest();
  return true;
}

void AddressSpace::never_reuse(std::uint64_t begin) {
  std::lock_guard lock(mutex_);
  allocations_.at(begin).is_reusable = false;
}

void AddressSpace::is_of_pool(const void* begin, PoolAccess& access) {
  std::lock_guard lock(mutex_);
  Allocation& allocation = allocations_.at(reinterpret_cast<std::uint64_t>(begin));
  allocation.pool = &access;
  access.allocated(allocation.size);
}

void AddressSpace::name(const void* begin, const std::string& name) {
  std::lock_guard lock(mutex_);
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  const auto held = holding(address);
  if (held == allocations_.end()) return;
  Allocation& allocation = allocations_.at(held->first);
  allocation.label = fmt::format("{} ({} bytes)", name, allocation.end() - address);
  allocation.origin = address;
}

AddressSpace::Allocations::const_iterator AddressSpace::holding(std::uint64_t address) const {
  const auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return allocations_.end();
  const auto candidate = std::prev(after);
  const bool holds = candidate->second.live && address < candidate->second.end();
  return holds ? candidate : allocations_.end();
}

void AddressSpace::give_back_oldest() {
  auto oldest = quarantine_.begin();
  const Allocation& freed = allocations_[oldest->second];
  quarantine_.erase(oldest);
  quarantined_ -= freed.size;
  Part& part = part_of(freed.begin);
  auto& holes = freed.kind == MemoryKind::device ? part.holes : part.upper_holes;
  holes.emplace(footprint(freed.size, freed.kind), freed.begin);
}

std::optional<Allocation> AddressSpace::find(std::uint64_t address) const {
  std::lock_guard lock(mutex_);
  const auto held = holding(address);
  return held != allocations_.end() ? std::optional(held->second) : std::nullopt;
}

std::pair<std::uint64_t, std::uint64_t> AddressSpace::hole_around(std::uint64_t address) const {
  std::lock_guard lock(mutex_);
  const auto is_live = [](const auto& entry) { return entry.second.live; };
  const auto after = allocations_.upper_bound(address);
  const auto next = std::find_if(after, allocations_.end(), is_live);
  const auto before = std::find_if(std::make_reverse_iterator(after), allocations_.rend(), is_live);
  return {before != allocations_.rend() ? before->second.end() : 0,
          next != allocations_.end() ? next->first : ~0ull};
}

std::optional<Allocation> AddressSpace::nearest(std::uint64_t address) const {
  std::lock_guard lock(mutex_);
  auto after = allocations_.upper_bound(address);
  std::optional<Allocation> best;
  std::uint64_t best_distance = ~0ull;
  if (after != allocations_.begin()) {
    const Allocation& before = std::prev(after)->second;
    best = before;
    best_distance = address < before.end() ? 0 : address - before.end() + 1;
  }
  if (after != allocations_.end() && after->first - address < best_distance) best = after->second;
  return best;
}

// Changes whole huge pages, so that none is split where the two parts do not meet.
void AddressSpace::set_rights(Part& part, bool readable) {
  std::uint64_t begin = part.begin;
  for (const auto& [closed, closed_end] : part.closed) {
    set_rights(begin, closed, readable);
    begin = closed_end;
  }
  set_rights(begin, std::min(round_up(part.top, huge_page), part.bottom), readable);
}

void AddressSpace::set_rights(std::uint64_t begin, std::uint64_t end, bool readable) {
  if (begin < end)
    mprotect(reinterpret_cast<void*>(begin), end - begin, readable ? PROT_READ | PROT_WRITE : PROT_NONE);
}

// The system goes through everything that has been touched since to change its rights.
void AddressSpace::close(const Allocation& freed) {
  const std::uint64_t begin = round_up(freed.begin, huge_page), end = round_down(freed.end(), huge_page);
  set_rights(begin, end, false);
  part_of(freed.begin).closed.emplace(begin, end);
}

void AddressSpace::open(Part& part, std::uint64_t begin, std::uint64_t end) {
  const auto closed = part.closed.find(round_up(begin, huge_page));
  if (closed == part.closed.end()) return;
  const std::uint64_t closed_end = closed->second, opened = std::min(round_up(end, huge_page), closed_end);
  if (!is_guarded_) set_rights(closed->first, opened, true);
  part.closed.erase(closed);
  if (opened < closed_end) part.closed.emplace(opened, closed_end);
}

void AddressSpace::open_to_host() {
  std::lock_guard lock(mutex_);
  for (int device = 0; device < devices_; ++device) {
    parts_[device].closed.clear();
    set_rights(parts_[device], true);
  }
  is_guarded_ = false;
}

void AddressSpace::guard(bool guarded) {
  std::lock_guard lock(mutex_);
  if (guarded != is_guarded_)
    for (int device = 0; device < devices_; ++device) set_rights(parts_[device], !guarded);
  is_guarded_ = guarded;
}

bool AddressSpace::is_of_device_alone(std::uint64_t address) const {
  const int device = owner(address);
  return device != no_device && address < parts_[device].top.load(std::memory_order_relaxed);
}

std::uint64_t AddressSpace::used(int device) const {
  std::lock_guard lock(mutex_);
  return parts_[device].used;
}

} // namespace warpfold::machine
