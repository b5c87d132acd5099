#include "segment.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <linux/futex.h>
#include <map>
#include <mutex>
#include <stdexcept>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace warpfold::nccl {
namespace {

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;

constexpr std::size_t rounded_up(std::size_t bytes) {
  return (bytes + 4095) / 4096 * 4096;
}

[[noreturn]] void give_up(const std::string& name, const char* what) {
  const int error = errno;
  shm_unlink(name.c_str());
  throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(error)));
}

// A process that is ended before all ranks have come leaves the name, and the memory with it. Whoever waits
// for ranks holds a lock, so what nobody holds, and is not just being made, is of no use to anybody.
void remove_abandoned() {
  constexpr std::time_t just_made = 60;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", none)) {
    if (!entry.path().filename().string().starts_with("warpfold-nccl-")) continue;
    const int file = open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) continue;
    struct stat about {};
    if (fstat(file, &about) == 0 && about.st_mtime + just_made < std::time(nullptr) &&
        flock(file, LOCK_EX | LOCK_NB) == 0)
      ::unlink(entry.path().c_str());
    close(file);
  }
}

// What ranks of this process may still find by its name.
struct Mapped {
  std::mutex mutex;
  std::map<std::pair<std::string, std::size_t>, std::weak_ptr<std::byte>> by_name_and_bytes;
};
Mapped& mapped() {
  static Mapped& only = *new Mapped;
  return only;
}

// Mapped at the first rank's request, until the last one's segment is gone.
std::shared_ptr<std::byte> map_memory(const std::string& name, std::size_t bytes) {
  std::lock_guard lock(mapped().mutex);
  auto& known = mapped().by_name_and_bytes[{name, bytes}];
  if (auto memory = known.lock()) return memory;
  const int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file >= 0) flock(file, LOCK_SH);
  if (file < 0) give_up(name, "cannot open shared memory");
  // Reserved, since a page that is missing later ends the process by a signal.
  if (const int error = posix_fallocate(file, 0, static_cast<off_t>(bytes))) {
    close(file);
    errno = error;
    give_up(name, "cannot reserve shared memory (is /dev/shm full?)");
  }
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (base == MAP_FAILED) {
    close(file);
    give_up(name, "cannot map shared memory");
  }
  const std::shared_ptr<std::byte> memory(static_cast<std::byte*>(base), [bytes, file](std::byte* begin) {
    close(file); // and its lock
    munmap(begin, bytes);
  });
  known = memory;
  return memory;
}

} // namespace

Segment::Segment(const std::string& name, int size, int rank) : name_(name), size_(size), rank_(rank) {
  const std::size_t ranks = size;
  // Few bytes in all, since containers have 64 MiB of shared memory: at most 8 MiB of slots, and 4 MiB of
  // channels for up to 32 ranks.
  slot_bytes_ = std::clamp(4 * MiB / ranks / (64 * KiB) * (64 * KiB), 64 * KiB, MiB);
  channel_bytes_ = std::clamp(4 * MiB / (ranks * ranks) / (4 * KiB) * (4 * KiB), 4 * KiB, 256 * KiB);
  channels_at_ = rounded_up(sizeof(Shared)) + rounded_up(sizeof(Rank) * ranks);
  slots_at_ = channels_at_ + rounded_up(sizeof(Channel) * ranks * ranks);
  channel_slots_at_ = slots_at_ + 2 * ranks * slot_bytes_;
  bytes_ = channel_slots_at_ + ranks * ranks * channel_bytes_;

  remove_abandoned();
  memory_ = map_memory(name, bytes_);
  base_ = memory_.get();
}

Rank& Segment::of(int rank) {
  return reinterpret_cast<Rank*>(base_ + rounded_up(sizeof(Shared)))[rank];
}
Channel& Segment::channel(int from, int to) {
  return reinterpret_cast<Channel*>(base_ + channels_at_)[from * size_ + to];
}
std::byte* Segment::slot(int rank, std::uint64_t piece) {
  return base_ + slots_at_ + (2 * rank + piece % 2) * slot_bytes_;
}
std::byte* Segment::channel_slot(int from, int to) {
  return base_ + channel_slots_at_ + (from * size_ + to) * channel_bytes_;
}

void Segment::ring() {
  auto& bell = shared().bell;
  bell.fetch_add(1);
  syscall(SYS_futex, &bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Segment::wait_for_bell(std::uint32_t heard) {
  const timespec tenth{0, 100'000'000};
  syscall(SYS_futex, &shared().bell, FUTEX_WAIT, heard, &tenth, nullptr, 0);
}

void Segment::unlink() {
  shm_unlink(name_.c_str());
  std::lock_guard lock(mapped().mutex);
  mapped().by_name_and_bytes.erase({name_, bytes_});
}

void Segment::keep(Call& call, const CallSite& site) {
  Rank& rank = own();
  call.frame_count = 0;
  for (const Frame& frame : site) {
    const std::uint32_t known = rank.module_count.load();
    std::uint32_t at = 0;
    while (at < known && frame.module != rank.modules[at]) ++at;
    if (at == std::size(rank.modules) || frame.module.size() >= sizeof rank.modules[0]) continue;
    if (at == known) {
      std::memcpy(rank.modules[at], frame.module.c_str(), frame.module.size() + 1);
      rank.module_count.store(known + 1);
    }
    call.frames[call.frame_count++] = {frame.address, at};
    if (call.frame_count == std::size(call.frames)) break;
  }
}

CallSite Segment::site(int rank, const Call& call) {
  CallSite site;
  const Rank& whose = of(rank);
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(call.frame_count, std::size(call.frames)); ++i)
    if (call.frames[i].module < whose.module_count.load())
      site.push_back({whose.modules[call.frames[i].module], call.frames[i].address});
  return site;
}

void Segment::note(NotedCall& where, const Call& call) {
  where.version.fetch_add(1);
  where.call = call;
  where.version.fetch_add(1);
}

Call Segment::noted(NotedCall& where) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const std::uint32_t before = where.version.load();
    const Call call = where.call;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (before % 2 == 0 && where.version.load() == before) return call;
  }
  return {};
}

std::string new_segment_name() {
  std::uint64_t random[2];
  if (getrandom(random, sizeof random, 0) != sizeof random) throw std::runtime_error("no random numbers");
  return fmt::format("/warpfold-nccl-{}-{:016x}{:016x}", getpid(), random[0], random[1]);
}

} // namespace warpfold::nccl
