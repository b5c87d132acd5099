#include "registered_buffers.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <nccl.h>

// NVIDIA's name for a window, to which the program has pointers. It knows nothing of what is in it.
struct ncclWindow_vidmem {
  const ncclComm* comm = nullptr;
  void* begin = nullptr;
  std::size_t size = 0;
  warpfold::nccl::Registered kind{};
};

namespace warpfold::nccl {
namespace {

std::mutex& mutex() {
  static std::mutex& only = *new std::mutex;
  return only;
}
std::map<void*, std::unique_ptr<ncclWindow_vidmem>>& all() {
  static auto& handles = *new std::map<void*, std::unique_ptr<ncclWindow_vidmem>>;
  return handles;
}

} // namespace

void* register_memory(const ncclComm* comm, void* begin, std::size_t size, Registered kind) {
  auto made = std::make_unique<ncclWindow_vidmem>(ncclWindow_vidmem{comm, begin, size, kind});
  void* const handle = made.get();
  std::lock_guard lock(mutex());
  all()[handle] = std::move(made);
  return handle;
}

bool deregister_memory(const ncclComm* comm, void* handle, Registered kind) {
  std::lock_guard lock(mutex());
  const auto found = all().find(handle);
  if (found == all().end() || found->second->comm != comm || found->second->kind != kind) return false;
  all().erase(found);
  return true;
}

void deregister_all(const ncclComm* comm) {
  std::lock_guard lock(mutex());
  std::erase_if(all(), [&](const auto& item) { return item.second->comm == comm; });
}

} // namespace warpfold::nccl
