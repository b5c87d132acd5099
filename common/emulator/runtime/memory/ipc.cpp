#include "runtime/memory/ipc.hpp"

#include "runtime/devices/devices.hpp"
#include "runtime/memory/memory_check.hpp"
#include "runtime/ordering/ordering.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/reporting/host_faults.hpp"
#include "runtime/runtime.hpp"
#include "runtime/streams/stream_table.hpp"
#include "runtime/streams/streams.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace warpfold::runtime {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Refusal(cudaErrorInvalidResourceHandle, fmt::format("{}: {}", what, std::strerror(errno)));
}

std::uint64_t page_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// What a cudaIpcMemHandle_t and a cudaIpcEventHandle_t hold.
struct Handle {
  static constexpr std::uint32_t of_memory = 0x57464d31, of_event = 0x57464531;
  std::uint32_t kind;
  std::int32_t process, descriptor;
  std::int32_t device;        // of the machine
  std::uint64_t offset, size; // of the memory in the file
};
static_assert(sizeof(Handle) <= CUDA_IPC_HANDLE_SIZE);

template <typename CudaHandle>
Handle read_handle(const CudaHandle& from, std::uint32_t kind) {
  Handle handle;
  std::memcpy(&handle, &from, sizeof handle);
  if (handle.kind != kind)
    throw Refusal(cudaErrorInvalidResourceHandle,
                  "the handle was not made by the emulator's cudaIpcGet...Handle");
  if (handle.process == getpid())
    throw Refusal(
        cudaErrorInvalidResourceHandle,
        "the handle was made by this process: it is for others, and this one has what it stands for");
  return handle;
}

// Allocations of this process that others may open, by their first address, and those that it has opened.
struct Table {
  std::mutex mutex;
  struct Exported {
    std::unique_ptr<SharedFile> file;
    std::uint64_t begin_of_file; // the address of its first byte
  };
  std::map<std::uint64_t, Exported> exported;
  std::map<std::uint64_t, std::uint64_t> opened; // the pointer that the program has -> the allocation
  static Table& get() {
    static Table& table = *new Table;
    return table;
  }
};

// Puts the pages of an allocation into a file. Other allocations may lie in the same pages, and stay what
// they are. Nothing may run meanwhile.
Table::Exported move_to_file(const machine::Allocation& allocation) {
  const std::uint64_t page = page_bytes(), begin = allocation.begin / page * page,
                      end = (allocation.end() + page - 1) / page * page;
  auto file = std::make_unique<SharedFile>(end - begin);
  void* const copy = file->map(nullptr, end - begin);
  std::memcpy(copy, reinterpret_cast<const void*>(begin), end - begin);
  munmap(copy, end - begin);
  file->map(reinterpret_cast<void*>(begin), end - begin);
  return {std::move(file), begin};
}

int visible_number(int device_of_machine) {
  const Runtime& runtime = Runtime::get();
  for (int device = 0; device < runtime.device_count(); ++device)
    if (runtime.visible_device(device) == device_of_machine) return device;
  return current_device();
}

} // namespace

namespace {
std::atomic<bool> shared_any = false;
}

bool has_shared_any() {
  return shared_any;
}

SharedFile::SharedFile(std::size_t bytes) : descriptor_(memfd_create("warpfold", MFD_CLOEXEC)) {
  shared_any = true;
  if (descriptor_ < 0 || ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0)
    refuse("memory for several processes");
}

SharedFile::SharedFile(int process, int descriptor)
    : descriptor_(open(fmt::format("/proc/{}/fd/{}", process, descriptor).c_str(), O_RDWR | O_CLOEXEC)) {
  shared_any = true;
  if (descriptor_ < 0) refuse(fmt::format("what process {} shares", process));
}

SharedFile::~SharedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void* SharedFile::map(void* at, std::size_t bytes) const {
  void* const mapped =
      mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), descriptor_, 0);
  if (mapped == MAP_FAILED) refuse("mapping shared memory");
  return mapped;
}

SharedEvent::SharedEvent() : file_(sizeof(State)) {
  state_ = static_cast<State*>(file_.map(nullptr, sizeof(State))); // zeros
}

SharedEvent::SharedEvent(int process, int descriptor) : file_(process, descriptor) {
  state_ = static_cast<State*>(file_.map(nullptr, sizeof(State)));
}

SharedEvent::~SharedEvent() {
  munmap(state_, sizeof(State));
}

void SharedEvent::pass(std::uint64_t record) {
  std::uint64_t over = state_->over;
  while (over < record && !state_->over.compare_exchange_weak(over, record)) {
  }
}

// Another process cannot notify this one, so it looks now and then.
class SharedEvent::Recorded final : public Moment {
public:
  explicit Recorded(std::shared_ptr<SharedEvent> event)
      : event_(std::move(event)), record_(event_->state_->recorded) {}
  void wait() override {
    while (!is_over() && !Runtime::get().options.interrupted)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  bool is_over() override { return event_->state_->over >= record_; }

private:
  std::shared_ptr<SharedEvent> event_;
  std::uint64_t record_;
};

Point SharedEvent::last(const std::shared_ptr<SharedEvent>& event) {
  return std::make_shared<Recorded>(event);
}

} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  return entry("cudaIpcGetMemHandle", [&] {
    const auto allocation = pointer ? allocation_of(pointer) : std::nullopt;
    if (!handle || !allocation || allocation->kind != warpfold::machine::MemoryKind::device)
      return cudaErrorInvalidValue;
    wait_for_all_devices();
    Table& table = Table::get();
    std::lock_guard lock(table.mutex);
    auto known = table.exported.find(allocation->begin);
    if (known == table.exported.end()) {
      const DeviceMemoryInUse use;
      known = table.exported.emplace(allocation->begin, move_to_file(*allocation)).first;
      Runtime::get().memory.never_reuse(allocation->begin);
    }
    const Handle made{Handle::of_memory,
                      getpid(),
                      known->second.file->descriptor(),
                      Runtime::get().visible_device(allocation->device),
                      allocation->begin - known->second.begin_of_file,
                      allocation->size};
    *handle = {};
    std::memcpy(handle, &made, sizeof made);
    return cudaSuccess;
  });
}

cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t from, unsigned flags) {
  return entry("cudaIpcOpenMemHandle", [&] {
    if (!pointer || flags != cudaIpcMemLazyEnablePeerAccess) return cudaErrorInvalidValue;
    const Handle handle = read_handle(from, Handle::of_memory);
    const SharedFile file(handle.process, handle.descriptor);
    Runtime& runtime = Runtime::get();
    const int device = visible_number(handle.device);
    const std::uint64_t bytes = handle.offset + handle.size;
    void* const begin = runtime.memory.allocate(
        bytes, warpfold::machine::MemoryKind::imported,
        fmt::format("memory of process {} ({} bytes)", handle.process, handle.size), device);
    file.map(begin, (bytes + page_bytes() - 1) / page_bytes() * page_bytes());
    if (device != current_device()) runtime.peers.allow(current_device(), device, true);
    note_written(begin, bytes); // what the other process has written is not known
    *pointer = static_cast<std::byte*>(begin) + handle.offset;
    ordering::allocated(*pointer, handle.size);
    Table& table = Table::get();
    std::lock_guard lock(table.mutex);
    table.opened[reinterpret_cast<std::uint64_t>(*pointer)] = reinterpret_cast<std::uint64_t>(begin);
    return cudaSuccess;
  });
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  return entry("cudaIpcCloseMemHandle", [&] {
    wait_for_all_devices();
    ordering::host_waits_for_all();
    Table& table = Table::get();
    std::lock_guard lock(table.mutex);
    const auto opened = table.opened.find(reinterpret_cast<std::uint64_t>(pointer));
    if (opened == table.opened.end())
      throw Refusal(cudaErrorInvalidValue, "the pointer does not come from cudaIpcOpenMemHandle");
    Runtime::get().memory.release(reinterpret_cast<void*>(opened->second));
    table.opened.erase(opened);
    return cudaSuccess;
  });
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t from) {
  return entry("cudaIpcGetEventHandle", [&] {
    StreamTable& table = StreamTable::get();
    std::lock_guard lock(table.mutex);
    const Event& event = table.event(from);
    if (!handle) return cudaErrorInvalidValue;
    if (!event.shared)
      throw Refusal(cudaErrorInvalidResourceHandle,
                    "the event was not created with cudaEventInterprocess | cudaEventDisableTiming");
    const Handle made{Handle::of_event, getpid(), event.shared->descriptor(), 0, 0, 0};
    *handle = {};
    std::memcpy(handle, &made, sizeof made);
    return cudaSuccess;
  });
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* opened, cudaIpcEventHandle_t from) {
  return entry("cudaIpcOpenEventHandle", [&] {
    if (!opened) return cudaErrorInvalidValue;
    const Handle handle = read_handle(from, Handle::of_event);
    StreamTable& table = StreamTable::get();
    std::lock_guard lock(table.mutex);
    auto event = std::make_unique<Event>();
    event->flags = cudaEventInterprocess | cudaEventDisableTiming;
    event->device = current_device();
    event->ever_recorded = true; // by the other process, as far as is known
    event->shared = std::make_shared<SharedEvent>(handle.process, handle.descriptor);
    *opened = reinterpret_cast<cudaEvent_t>(event.get());
    table.events[event.get()] = std::move(event);
    return cudaSuccess;
  });
}
}
