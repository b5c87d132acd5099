#include "runtime/graphs/user_objects.hpp"

#include "runtime/graphs/graph_table.hpp"

#include <mutex>

namespace warpfold::runtime {
namespace {

struct UserObject {
  void* pointer = nullptr;
  cudaHostFn_t destroy = nullptr;
  unsigned references = 0;
};

struct Objects {
  std::mutex mutex;
  std::map<cudaUserObject_t, std::unique_ptr<UserObject>> all;

  static Objects& get() {
    static Objects& objects = *new Objects;
    return objects;
  }
};

// Throws Refusal if there is no such object.
void retain(cudaUserObject_t handle, unsigned count) {
  Objects& objects = Objects::get();
  const std::lock_guard lock(objects.mutex);
  const auto found = objects.all.find(handle);
  if (found == objects.all.end())
    throw Refusal(cudaErrorInvalidValue, "not a user object, or one that has been destroyed");
  found->second->references += count;
}

// False if there is no such object or it has fewer references. With the last one it is destroyed, by this
// thread.
bool release(cudaUserObject_t handle, unsigned count) {
  std::unique_ptr<UserObject> gone;
  {
    Objects& objects = Objects::get();
    const std::lock_guard lock(objects.mutex);
    const auto found = objects.all.find(handle);
    if (found == objects.all.end() || found->second->references < count) return false;
    found->second->references -= count;
    if (found->second->references > 0) return true;
    gone = std::move(found->second);
    objects.all.erase(found);
  }
  gone->destroy(gone->pointer);
  return true;
}

} // namespace

UserObjects::UserObjects(const UserObjects& other) : counts_(other.counts_) {
  for (const auto& [object, count] : counts_) retain(object, count);
}

UserObjects& UserObjects::operator=(UserObjects other) noexcept {
  std::swap(counts_, other.counts_);
  return *this;
}

UserObjects::~UserObjects() {
  for (const auto& [object, count] : counts_) release(object, count);
}

bool UserObjects::remove(cudaUserObject_t object, unsigned count) {
  const auto found = counts_.find(object);
  if (found == counts_.end() || found->second < count) return false;
  found->second -= count;
  if (found->second == 0) counts_.erase(found);
  return true;
}

} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy,
                                 unsigned references, unsigned flags) {
  return entry("cudaUserObjectCreate", [&] {
    if (!object || !destroy || references == 0 || flags != cudaUserObjectNoDestructorSync)
      return cudaErrorInvalidValue;
    auto made = std::make_unique<UserObject>(UserObject{pointer, destroy, references});
    *object = reinterpret_cast<cudaUserObject_t>(made.get());
    Objects& objects = Objects::get();
    const std::lock_guard lock(objects.mutex);
    objects.all[*object] = std::move(made);
    return cudaSuccess;
  });
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count) {
  return entry("cudaUserObjectRetain", [&] {
    if (count == 0) return cudaErrorInvalidValue;
    retain(object, count);
    return cudaSuccess;
  });
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count) {
  return entry("cudaUserObjectRelease", [&] {
    if (count == 0) return cudaErrorInvalidValue;
    if (!release(object, count))
      throw Refusal(cudaErrorInvalidValue, "the user object has fewer references than are released");
    return cudaSuccess;
  });
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count,
                                      unsigned flags) {
  return with_table("cudaGraphRetainUserObject", [&](GraphTable& table) {
    if (count == 0 || flags > cudaGraphUserObjectMove) return cudaErrorInvalidValue;
    UserObjects& objects = table.graph(graph).objects;
    retain(object, flags == cudaGraphUserObjectMove ? 0 : count);
    objects.add(object, count);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count) {
  return with_table("cudaGraphReleaseUserObject", [&](GraphTable& table) {
    if (count == 0 || !table.graph(graph).objects.remove(object, count)) return cudaErrorInvalidValue;
    release(object, count);
    return cudaSuccess;
  });
}
}
