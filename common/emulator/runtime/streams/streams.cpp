#include "runtime/devices/device_limits.hpp"
#include "runtime/devices/devices.hpp"
#include "runtime/ordering/ordering.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/runtime.hpp"
#include "runtime/streams/stream_table.hpp"

#include <fmt/format.h>

namespace warpfold::runtime {

StreamTable& StreamTable::get() {
  static StreamTable& table = *[] {
    auto made = new StreamTable;
    for (int device = 0; device < machine::most_devices; ++device) {
      made->legacy[device].id = 1, made->per_thread[device].id = 2;
      made->legacy[device].device = made->per_thread[device].device = device;
    }
    return made;
  }();
  return table;
}

std::vector<Point> StreamTable::before_work_in(const Stream& stream) const {
  std::vector<Point> before = stream.awaited;
  if (!stream.blocking()) return before;
  const Stream& standard = legacy[stream.device];
  if (&stream != &standard) {
    before.push_back(standard.queue.last());
    return before;
  }
  before.push_back(per_thread[stream.device].queue.last());
  for (const auto& [handle, other] : streams)
    if (other->device == stream.device && other->blocking()) before.push_back(other->queue.last());
  for (const Rest& rest : rests)
    if (rest.device == stream.device && rest.blocking) before.push_back(rest.last);
  return before;
}

std::vector<Point> StreamTable::work_of(int device) const {
  std::vector<Point> work{legacy[device].queue.last(), per_thread[device].queue.last()};
  for (const auto& [handle, stream] : streams)
    if (stream->device == device) work.push_back(stream->queue.last());
  for (const Rest& rest : rests)
    if (rest.device == device) work.push_back(rest.last);
  return work;
}

Stream& StreamTable::stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return legacy[current_device()];
  if (handle == cudaStreamPerThread) return per_thread[current_device()];
  auto found = streams.find(handle);
  if (found == streams.end())
    throw Refusal(cudaErrorInvalidResourceHandle,
                  "the stream was never created or has already been destroyed");
  return *found->second;
}

int device_of(cudaStream_t stream) {
  StreamTable& table = StreamTable::get();
  std::lock_guard lock(table.mutex);
  return table.stream(stream).device;
}

void check_stream(cudaStream_t stream) {
  device_of(stream);
}

// CUDA Programming Guide, "L2 Policy for Persisting Accesses"; an H200 refuses the same.
static void check_window(const cudaAccessPolicyWindow& window) {
  const auto refuse = [](const std::string& why) { throw Refusal(cudaErrorInvalidValue, why); };
  if (window.num_bytes > PersistingL2::largest_window)
    refuse(fmt::format("an access policy window of {} bytes, more than accessPolicyMaxWindowSize ({})",
                       window.num_bytes, PersistingL2::largest_window + 0));
  if (!(window.hitRatio >= 0 && window.hitRatio <= 1))
    refuse(fmt::format("a hitRatio of {:g}, which must lie between 0 and 1", window.hitRatio));
  if (window.missProp == cudaAccessPropertyPersisting)
    refuse("a missProp of cudaAccessPropertyPersisting, which only hitProp may have");
}

void Attributes::set(cudaLaunchAttributeID id, const cudaLaunchAttributeValue& value) {
  if (id == cudaLaunchAttributeAccessPolicyWindow) check_window(value.accessPolicyWindow);
  values_[id] = value;
}

cudaLaunchAttributeValue Attributes::get(cudaLaunchAttributeID id) const {
  if (const auto found = values_.find(id); found != values_.end()) return found->second;
  cudaLaunchAttributeValue initial{};
  if (id == cudaLaunchAttributeSynchronizationPolicy) initial.syncPolicy = cudaSyncPolicyAuto;
  if (id == cudaLaunchAttributeMemSyncDomainMap) initial.memSyncDomainMap.remote = 1;
  return initial;
}

namespace {

cudaError_t create(const char* caller, cudaStream_t* handle, unsigned flags, int priority) {
  return entry(caller, [&] {
    if (!handle || (flags & ~unsigned{cudaStreamNonBlocking})) return cudaErrorInvalidValue;
    StreamTable& table = StreamTable::get();
    std::lock_guard lock(table.mutex);
    auto stream = std::make_unique<Stream>();
    stream->flags = flags;
    stream->device = current_device();
    stream->priority = priority > 0    ? 0
                       : priority < -1 ? -1
                                       : priority; // out of range is clamped, as CUDA specifies
    stream->id = table.next_id++;
    *handle = reinterpret_cast<cudaStream_t>(stream.get());
    table.streams[stream.get()] = std::move(stream);
    ordering::stream_created(flags);
    return cudaSuccess;
  });
}

// Calls `body` with the stream, which must exist.
template <typename Body>
cudaError_t with_stream(const char* caller, cudaStream_t handle, Body body) {
  return entry(caller, [&] {
    StreamTable& table = StreamTable::get();
    std::lock_guard lock(table.mutex);
    return body(table.stream(handle));
  });
}

// When everything issued so far is done. A program cannot wait for a stream that is being captured, and
// gets an error.
cudaError_t find_last(const char* caller, cudaStream_t handle, Point& last) {
  return with_stream(caller, handle, [&](Stream& stream) {
    if (!stream.place.capturing()) {
      last = stream.queue.last();
      return cudaSuccess;
    }
    stream.place.capture->invalidated = true;
    throw Refusal(cudaErrorStreamCaptureUnsupported, "the stream is being captured into a graph");
  });
}

cudaError_t has_waited(cudaStream_t handle) {
  ordering::host_waits_for_stream(handle);
  return remember(sticky_error());
}

} // namespace
} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return create("cudaStreamCreate", stream, 0, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return create("cudaStreamCreateWithFlags", stream, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return create("cudaStreamCreateWithPriority", stream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return with_stream("cudaStreamDestroy", handle, [&](Stream& stream) {
    StreamTable& table = StreamTable::get();
    if (&stream == &table.legacy[stream.device] || &stream == &table.per_thread[stream.device])
      throw Refusal(cudaErrorInvalidResourceHandle, "a default stream cannot be destroyed");
    ordering::stream_destroyed(stream.order);
    std::erase_if(table.rests, [](const StreamTable::Rest& rest) { return is_over(rest.last); });
    table.rests.push_back({stream.device, stream.blocking(), stream.queue.last()});
    table.streams.erase(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  Point last;
  if (const cudaError_t error = find_last("cudaStreamSynchronize", stream, last); error != cudaSuccess)
    return error;
  Runtime::get().recorder.add_host_wait();
  wait_for(last);
  return has_waited(stream);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  Point last;
  if (const cudaError_t error = find_last("cudaStreamQuery", stream, last); error != cudaSuccess)
    return error;
  return is_over(last) && ordering::is_ready(stream) ? has_waited(stream) : cudaErrorNotReady;
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  return with_stream("cudaStreamGetFlags", handle, [&](Stream& stream) {
    if (!flags) return cudaErrorInvalidValue;
    *flags = stream.flags;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return with_stream("cudaStreamGetPriority", handle, [&](Stream& stream) {
    if (!priority) return cudaErrorInvalidValue;
    *priority = stream.priority;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  return with_stream("cudaStreamGetId", handle, [&](Stream& stream) {
    if (!id) return cudaErrorInvalidValue;
    *id = stream.id;
    return cudaSuccess;
  });
}

// Newer than the oldest header that this is compiled with, so its visibility is set here.
#pragma GCC visibility push(default)
cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return with_stream("cudaStreamGetDevice", handle, [&](Stream& stream) {
    if (!device) return cudaErrorInvalidValue;
    *device = stream.device;
    return cudaSuccess;
  });
}
#pragma GCC visibility pop

cudaError_t cudaStreamCopyAttributes(cudaStream_t destination, cudaStream_t source) {
  return with_stream("cudaStreamCopyAttributes", destination, [&](Stream& stream) {
    stream.attributes = StreamTable::get().stream(source).attributes;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSetAttribute(cudaStream_t handle, cudaStreamAttrID attribute,
                                   const cudaStreamAttrValue* value) {
  return with_stream("cudaStreamSetAttribute", handle, [&](Stream& stream) {
    if (!value) return cudaErrorInvalidValue;
    if (attribute == cudaLaunchAttributePriority) stream.priority = value->priority;
    stream.attributes.set(attribute, *value);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetAttribute(cudaStream_t handle, cudaStreamAttrID attribute,
                                   cudaStreamAttrValue* value) {
  return with_stream("cudaStreamGetAttribute", handle, [&](Stream& stream) {
    if (!value) return cudaErrorInvalidValue;
    *value = stream.attributes.get(attribute);
    if (attribute == cudaLaunchAttributePriority) value->priority = stream.priority;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t handle, void* pointer, size_t, unsigned) {
  return with_stream("cudaStreamAttachMemAsync", handle,
                     [&](Stream&) { return pointer ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return entry("cudaLaunchHostFunc", [&] {
    if (!function) return cudaErrorInvalidValue;
    return submit(stream, cudaGraphNodeTypeHost, [=] {
      function(data);
      return cudaSuccess;
    });
  });
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned flags) {
  return entry("cudaStreamAddCallback", [&] {
    if (!callback || flags != 0) return cudaErrorInvalidValue;
    return submit(stream, cudaGraphNodeTypeHost, [=] {
      callback(stream, cudaSuccess, data);
      return cudaSuccess;
    });
  });
}
}
