// Work in a program's streams, which is done once, or each time that the graph is launched into which it was
// captured.
#include "issue.hpp"
#include "telling.hpp"

#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <vector>

namespace warpfold::nccl {
namespace {

struct Work {
  ncclComm* comm;
  std::uint64_t comm_id; // a graph may outlive its communicator
  Call call;
  std::function<void()> body;
};

void run(const Work& work) {
  if (!work.comm->segment->has_failed()) work.body();
}

void run_once(void* data) {
  const std::unique_ptr<Work> work(static_cast<Work*>(data));
  run(*work);
}

void run_in_graph(void* data) {
  const Work& work = *static_cast<Work*>(data);
  if (live(work.comm) && work.comm->id == work.comm_id) return run(work);
  refuse(ncclInvalidUsage,
         fmt::format("a graph was launched that holds {}, whose communicator has been destroyed",
                     text(work.call)));
}

// Nothing says when the last graph is gone that holds the work, so it is kept as long as the process.
void* kept(std::unique_ptr<Work> work) {
  static std::mutex& mutex = *new std::mutex;
  static auto& all = *new std::vector<std::unique_ptr<Work>>;
  std::lock_guard lock(mutex);
  return all.emplace_back(std::move(work)).get();
}

} // namespace

void begin_work(const Request& request) {
  const ncclComm& comm = *request.comm;
  const bool follows = request.capture ? comm.captured_by == request.capture : comm.has_work;
  const cudaStream_t before = request.capture ? comm.last_captured_stream : comm.last_stream;
  if (follows && before != request.stream)
    check(cudaStreamWaitEvent(request.stream, request.capture ? comm.last_captured : comm.last, 0),
          "cudaStreamWaitEvent");
}

void end_work(const Request& request) {
  ncclComm& comm = *request.comm;
  check(cudaEventRecord(request.capture ? comm.last_captured : comm.last, request.stream), "cudaEventRecord");
  if (request.capture) {
    comm.captured_by = request.capture;
    comm.last_captured_stream = request.stream;
  } else {
    comm.last_stream = request.stream;
    comm.has_work = true;
  }
}

void launch(const Request& request, std::function<void()> body) {
  auto work = std::make_unique<Work>(Work{request.comm, request.comm->id, request.call, std::move(body)});
  check(request.capture ? cudaLaunchHostFunc(request.stream, run_in_graph, kept(std::move(work)))
                        : cudaLaunchHostFunc(request.stream, run_once, work.release()),
        "cudaLaunchHostFunc");
}

void copy(const Request& request, void* to, const void* from, std::size_t bytes) {
  if (!bytes) return;
  const auto is_on_host = [](const void* pointer) {
    cudaPointerAttributes attributes{};
    return cudaPointerGetAttributes(&attributes, pointer) == cudaSuccess &&
           attributes.type == cudaMemoryTypeHost;
  };
  // A copy within the host's memory would be waited for by the caller, who may have the other ranks' calls to
  // make.
  if (is_on_host(to) && is_on_host(from))
    launch(request, [=] { std::memmove(to, from, bytes); });
  else
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, request.stream), "cudaMemcpyAsync");
}

} // namespace warpfold::nccl
