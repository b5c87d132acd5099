// Calls that are captured into graphs: nothing moves until a graph is launched, and each launch makes the
// calls anew, between calls that are made directly. Usage: graphs group|threads|processes [RANKS]
#include "ranks.hpp"

#include <atomic>
#include <cstdint>

namespace {

constexpr std::size_t count = 200'000; // several pieces
std::atomic<long> compared = 0;

// A rank's memory, and the graph of its calls.
struct Member {
  Party party;
  std::int32_t *sum = nullptr, *from_previous = nullptr, *scattered = nullptr, *host = nullptr;
  cudaStream_t side = nullptr;
  cudaEvent_t fork = nullptr, join = nullptr;
  cudaGraphExec_t graph = nullptr;
};

std::int32_t* device_memory(std::size_t elements) {
  void* memory = nullptr;
  cuda(cudaMalloc(&memory, elements * sizeof(std::int32_t)));
  cuda(cudaMemset(memory, 0, elements * sizeof(std::int32_t)));
  return static_cast<std::int32_t*>(memory);
}

Member member(const Party& party) {
  Member made{.party = party};
  cuda(cudaSetDevice(party.device));
  made.sum = device_memory(count);
  made.from_previous = device_memory(count);
  made.scattered = device_memory(1);
  void* host = nullptr;
  cuda(cudaMallocHost(&host, count * sizeof(std::int32_t)));
  made.host = static_cast<std::int32_t*>(host);
  for (std::size_t i = 0; i < count; ++i) made.host[i] = party.rank + static_cast<std::int32_t>(i % 7);
  cuda(cudaMemcpy(made.sum, made.host, count * sizeof(std::int32_t), cudaMemcpyHostToDevice));
  cuda(cudaStreamCreate(&made.side));
  cuda(cudaEventCreateWithFlags(&made.fork, cudaEventDisableTiming));
  cuda(cudaEventCreateWithFlags(&made.join, cudaEventDisableTiming));
  return made;
}

template <typename Call>
void each(std::vector<Member>& members, Call call) {
  for (Member& member : members) {
    cuda(cudaSetDevice(member.party.device));
    call(member);
  }
}

// A sum in place; then a ring in which each rank sends its sum to the next; and at the same time, but for the
// order of a communicator's calls, a scatter in another stream of the capture.
void capture(std::vector<Member>& members) {
  each(members,
       [](Member& m) { cuda(cudaStreamBeginCapture(m.party.stream, cudaStreamCaptureModeThreadLocal)); });
  nccl(ncclGroupStart());
  each(members, [](Member& m) {
    nccl(ncclAllReduce(m.sum, m.sum, count, ncclInt32, ncclSum, m.party.comm, m.party.stream));
  });
  nccl(ncclGroupEnd());
  each(members, [](Member& m) {
    cuda(cudaEventRecord(m.fork, m.party.stream));
    cuda(cudaStreamWaitEvent(m.side, m.fork, 0));
  });
  nccl(ncclGroupStart());
  each(members, [](Member& m) {
    const int size = m.party.size, next = (m.party.rank + 1) % size,
              previous = (m.party.rank + size - 1) % size;
    nccl(ncclSend(m.sum, count, ncclInt32, next, m.party.comm, m.party.stream));
    nccl(ncclRecv(m.from_previous, count, ncclInt32, previous, m.party.comm, m.party.stream));
  });
  nccl(ncclGroupEnd());
  nccl(ncclGroupStart());
  each(members,
       [](Member& m) { nccl(ncclScatter(m.sum, m.scattered, 1, ncclInt32, 0, m.party.comm, m.side)); });
  nccl(ncclGroupEnd());
  each(members, [](Member& m) {
    cuda(cudaEventRecord(m.join, m.side));
    cuda(cudaStreamWaitEvent(m.party.stream, m.join, 0));
    cudaGraph_t graph = nullptr;
    cuda(cudaStreamEndCapture(m.party.stream, &graph));
    cuda(cudaGraphInstantiateWithFlags(&m.graph, graph, 0));
    cuda(cudaGraphDestroy(graph));
  });
}

void compare(const char* what, Member& m, const std::int32_t* data, std::size_t elements,
             const std::function<std::int32_t(std::size_t)>& wanted) {
  cuda(
      cudaMemcpyAsync(m.host, data, elements * sizeof(std::int32_t), cudaMemcpyDeviceToHost, m.party.stream));
  cuda(cudaStreamSynchronize(m.party.stream));
  for (std::size_t i = 0; i < elements; ++i, ++compared) {
    if (m.host[i] == wanted(i)) continue;
    std::printf("wrong: %s on rank %d at %zu: %d instead of %d\n", what, m.party.rank, i, m.host[i],
                wanted(i));
    std::_Exit(1);
  }
}

void run(std::vector<Party>& parties) {
  std::vector<Member> members;
  for (const Party& party : parties) members.push_back(member(party));
  const int size = parties[0].size;
  capture(members);
  each(members, [&](Member& m) {
    compare("before a launch", m, m.sum, count,
            [&](std::size_t i) { return m.party.rank + static_cast<std::int32_t>(i % 7); });
  });
  // What every rank has in `sum` after the first sum, and then after each further one.
  const auto at_first = [&](std::size_t i) {
    return size * (size - 1) / 2 + size * static_cast<std::int32_t>(i % 7);
  };
  std::int32_t times = 1;
  for (int round = 0; round < 3; ++round) {
    each(members, [](Member& m) { cuda(cudaGraphLaunch(m.graph, m.party.stream)); });
    if (round > 0) times *= size;
    each(members, [&](Member& m) {
      const auto wanted = [&](std::size_t i) { return times * at_first(i); };
      compare("the ring", m, m.from_previous, count, wanted);
      compare("the scatter", m, m.scattered, 1, [&](std::size_t) { return wanted(m.party.rank); });
      compare("the sum", m, m.sum, count, wanted);
    });
    // Two launches one after another, with a call between them that is not in the graph.
    each(members, [](Member& m) { cuda(cudaGraphLaunch(m.graph, m.party.stream)); });
    nccl(ncclGroupStart());
    each(members, [](Member& m) {
      nccl(ncclAllReduce(m.sum, m.sum, count, ncclInt32, ncclMax, m.party.comm, m.party.stream));
    });
    nccl(ncclGroupEnd());
    times *= size;
    each(members, [&](Member& m) {
      compare("a maximum after a launch", m, m.sum, count,
              [&](std::size_t i) { return times * at_first(i); });
    });
  }
  each(members, [](Member& m) {
    cuda(cudaGraphExecDestroy(m.graph));
    cuda(cudaStreamDestroy(m.side));
  });
}

} // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "group";
  const int size = how == "processes" ? own_size() : argc > 2 ? std::atoi(argv[2]) : 2;
  with_parties(how, size, run);
  std::printf("%ld results are right\n", compared.load());
  return 0;
}
