#include "runtime/devices/devices.hpp"

#include "runtime/memory/memory_check.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/runtime.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fmt/format.h>
#include <string_view>

namespace warpfold::runtime {
namespace {

thread_local int device_of_thread = 0;
std::atomic<bool> is_work_done_later = false;

} // namespace

int device_count() {
  return Runtime::get().device_count();
}

bool several_devices() {
  return Runtime::get().memory.devices() > 1;
}

bool works_later() {
  return is_work_done_later.load(std::memory_order_relaxed) || several_devices();
}

void work_later() {
  is_work_done_later = true;
}

int current_device() {
  return device_of_thread;
}

void set_current_device(int device) {
  device_of_thread = device;
}

void check_device(int device) {
  const int count = device_count();
  if (device >= 0 && device < count) return;
  if (count == 0) throw Refusal(cudaErrorNoDevice, "CUDA_VISIBLE_DEVICES leaves no device");
  throw Refusal(cudaErrorInvalidDevice,
                count == 1 ? fmt::format("there is one device, number 0, and no number {}", device)
                           : fmt::format("there are {} devices, numbers 0 to {}, and no number {}", count,
                                         count - 1, device));
}

std::vector<int> visible_devices(int count, const char* text) {
  std::vector<int> visible;
  if (!text || *text < '0' || *text > '9') {
    for (int i = 0; i < count; ++i) visible.push_back(i);
    return visible;
  }
  for (std::string_view left = text; !left.empty();) {
    const std::string number(left.substr(0, left.find(',')));
    left.remove_prefix(std::min(left.size(), number.size() + 1));
    char* end = nullptr;
    const long device = std::strtol(number.c_str(), &end, 10);
    if (end == number.c_str() || *end != '\0' || device < 0 || device >= count) break;
    if (std::find(visible.begin(), visible.end(), device) != visible.end()) return {}; // as CUDA does
    visible.push_back(static_cast<int>(device));
  }
  return visible;
}

void count_peer_copy(const void* destination, const void* source, std::size_t size) {
  Runtime& runtime = Runtime::get();
  const int to = runtime.memory.owner(reinterpret_cast<std::uint64_t>(destination)),
            from = runtime.memory.owner(reinterpret_cast<std::uint64_t>(source));
  if (!runtime.recording || to == machine::no_device || from == machine::no_device || to == from) return;
  runtime.recorder.add_peer_copy(from, to, size);
}

} // namespace warpfold::runtime
