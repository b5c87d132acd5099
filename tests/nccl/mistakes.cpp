// Mistakes that are told. Usage: mistakes NAME [group|threads|processes] [RANKS]. Each prints what it was
// answered; what is said of it goes to stderr. Above a call whose line must be named stands "line: NAME".
#include "ranks.hpp"

#include <cstring>
#include <map>

namespace {

void say(const char* what, ncclResult_t result) {
  std::printf("%s: %d\n", what, static_cast<int>(result));
  std::fflush(stdout);
}

// After an error that came later than the call: what the communicator says of itself.
void settle(const Party& party, ncclResult_t result) {
  cudaStreamSynchronize(party.stream);
  if (result == ncclSuccess) nccl(ncclCommGetAsyncError(party.comm, &result));
  say("result", result);
}

float* memory(const Party& party, std::size_t count = 64) {
  void* data = nullptr;
  cuda(cudaSetDevice(party.device));
  cuda(cudaMalloc(&data, count * sizeof(float)));
  cuda(cudaMemset(data, 0, count * sizeof(float)));
  return static_cast<float*>(data);
}

// What is issued to the stream in `calls`, as a graph.
template <typename Calls>
cudaGraphExec_t captured(const Party& party, Calls calls) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  cuda(cudaStreamBeginCapture(party.stream, cudaStreamCaptureModeThreadLocal));
  nccl(calls());
  cuda(cudaStreamEndCapture(party.stream, &graph));
  cuda(cudaGraphInstantiateWithFlags(&ready, graph, 0));
  return ready;
}

using Body = void (*)(Party&);

// One rank for each thread or process.
const std::map<std::string, Body> of_rank = {
    {"counts",
     [](Party& p) {
       float* data = memory(p);
       // line: counts
       settle(p, ncclAllReduce(data, data, 4 + p.rank, ncclFloat32, ncclSum, p.comm, p.stream));
     }},
    {"graph_counts",
     [](Party& p) {
       float* data = memory(p);
       const cudaGraphExec_t graph = captured(p, [&] {
         // line: graph_counts
         return ncclAllReduce(data, data, 4 + p.rank, ncclFloat32, ncclSum, p.comm, p.stream);
       });
       cuda(cudaGraphLaunch(graph, p.stream));
       settle(p, ncclSuccess);
     }},
    {"graph_never",
     [](Party& p) {
       float* data = memory(p);
       const cudaGraphExec_t graph = captured(p, [&] {
         // line: graph_never
         return ncclBroadcast(data, data, 4, ncclFloat32, 1, p.comm, p.stream);
       });
       if (p.rank) return usleep(3'000'000), void();
       cuda(cudaGraphLaunch(graph, p.stream));
       settle(p, ncclSuccess);
     }},
    {"unwritten",
     [](Party& p) {
       void* data = nullptr;
       cuda(cudaSetDevice(p.device));
       cuda(cudaMalloc(&data, 4 * sizeof(float)));
       settle(p, ncclAllReduce(data, data, 4, ncclFloat32, ncclSum, p.comm, p.stream));
     }},
    {"types",
     [](Party& p) {
       float* data = memory(p);
       // line: types
       settle(p, ncclBroadcast(data, data, 4, p.rank ? ncclInt32 : ncclFloat32, 0, p.comm, p.stream));
     }},
    {"operators",
     [](Party& p) {
       float* data = memory(p);
       // line: operators
       settle(p, ncclAllReduce(data, data, 4, ncclInt32, p.rank ? ncclMax : ncclMin, p.comm, p.stream));
     }},
    {"roots",
     [](Party& p) {
       float* data = memory(p);
       // line: roots
       settle(p, ncclReduce(data, data, 4, ncclInt32, ncclSum, p.rank, p.comm, p.stream));
     }},
    {"collectives",
     [](Party& p) {
       float* data = memory(p);
       // line: collectives
       settle(p, p.rank ? ncclAllReduce(data, data, 4, ncclInt32, ncclSum, p.comm, p.stream)
                        : ncclBroadcast(data, data, 4, ncclInt32, 0, p.comm, p.stream));
     }},
    {"sends",
     [](Party& p) {
       float* data = memory(p);
       // line: sends
       settle(p, p.rank ? ncclRecv(data, 4, ncclInt32, 0, p.comm, p.stream)
                        : ncclSend(data, 5, ncclInt32, 1, p.comm, p.stream));
     }},
    {"never",
     [](Party& p) {
       float* data = memory(p);
       // line: never
       if (p.rank == 0)
         settle(p, ncclAllReduce(data, data, 4, ncclInt32, ncclSum, p.comm, p.stream));
       else
         usleep(3'000'000);
     }},
    {"left",
     [](Party& p) {
       float* data = memory(p);
       // line: left
       if (p.rank == 0) settle(p, ncclAllReduce(data, data, 4, ncclInt32, ncclSum, p.comm, p.stream));
     }},
    {"ended",
     [](Party& p) {
       float* data = memory(p);
       if (p.rank) std::_Exit(0);
       // line: ended
       settle(p, ncclAllReduce(data, data, 4, ncclInt32, ncclSum, p.comm, p.stream));
     }},
    {"facing",
     [](Party& p) {
       float* data = memory(p);
       // line: facing
       ncclResult_t result = ncclSend(data, 4, ncclInt32, 1 - p.rank, p.comm, p.stream);
       if (result == ncclSuccess) result = ncclRecv(data, 4, ncclInt32, 1 - p.rank, p.comm, p.stream);
       settle(p, result);
     }},
    {"open_group",
     [](Party& p) {
       float* data = memory(p);
       // line: open_group
       if (p.rank) nccl(ncclGroupStart());
       settle(p, ncclAllReduce(data, data, 4, ncclInt32, ncclSum, p.comm, p.stream));
       if (p.rank) usleep(3'000'000);
     }},
    {"abort",
     [](Party& p) {
       float* data = memory(p);
       if (p.rank) {
         // line: abort
         say("abort", ncclCommAbort(p.comm));
         p.comm = nullptr;
       } else {
         settle(p, ncclAllReduce(data, data, 4, ncclInt32, ncclSum, p.comm, p.stream));
       }
     }},
};

// Arguments that NCCL refuses. All by one rank, in a communicator of one.
void arguments() {
  Party p;
  cuda(cudaStreamCreate(&p.stream));
  nccl(ncclCommInitAll(&p.comm, 1, nullptr));
  float* data = memory(p);
  float on_host[4] = {};
  const auto all_reduce = [&](const void* send, void* receive, int type, int op, ncclComm_t comm) {
    return ncclAllReduce(send, receive, 4, static_cast<ncclDataType_t>(type), static_cast<ncclRedOp_t>(op),
                         comm, p.stream);
  };
  say("fine", all_reduce(data, data, ncclFloat32, ncclSum, p.comm));
  for (int i = 0; i < 3; ++i) all_reduce(data, data, ncclFloat32, ncclSum, nullptr); // said once in all
  say("no communicator", all_reduce(data, data, ncclFloat32, ncclSum, nullptr));
  // line: arguments
  say("no buffer", all_reduce(nullptr, data, ncclFloat32, ncclSum, p.comm));
  say("host memory", all_reduce(on_host, data, ncclFloat32, ncclSum, p.comm));
  say("type", all_reduce(data, data, 77, ncclSum, p.comm));
  say("operator", all_reduce(data, data, ncclFloat32, 7, p.comm));
  say("root", ncclReduce(data, data, 4, ncclFloat32, ncclSum, 1, p.comm, p.stream));
  say("peer", ncclSend(data, 4, ncclFloat32, -1, p.comm, p.stream));
  say("end without start", ncclGroupEnd());
  nccl(ncclGroupStart());
  say("wrong in a group", all_reduce(data, data, 77, ncclSum, p.comm));
  say("end of that group", ncclGroupEnd());
  ncclUniqueId id{};
  ncclComm_t other = nullptr;
  say("no id", ncclCommInitRank(&other, 2, id, 1));
  nccl(ncclGetUniqueId(&id));
  say("rank", ncclCommInitRank(&other, 2, id, 2));
  say("ranks", ncclCommInitRank(&other, 0, id, 0));
  int devices = 0;
  cuda(cudaGetDeviceCount(&devices));
  say("devices", ncclCommInitAll(&other, devices + 1, nullptr));
  say("no pointer", ncclCommCount(p.comm, nullptr));
  say("color", ncclCommSplit(p.comm, -7, 0, &other, nullptr));
  nccl(ncclCommFinalize(p.comm));
  say("finalized", all_reduce(data, data, ncclFloat32, ncclSum, p.comm));
  nccl(ncclCommDestroy(p.comm));
  say("destroyed", all_reduce(data, data, ncclFloat32, ncclSum, p.comm));
  std::printf("%s\n", ncclGetErrorString(ncclInvalidArgument));
  std::printf("last: %s\n", std::strstr(ncclGetLastError(nullptr), "has been destroyed") ? "yes" : "no");
}

// Operators, buffers and windows that are made and given back.
void handles() {
  Party p;
  cuda(cudaStreamCreate(&p.stream));
  nccl(ncclCommInitAll(&p.comm, 1, nullptr));
  float* data = memory(p);
  float scalar = 2;
  ncclRedOp_t op{};
  void* handle = nullptr;
  ncclWindow_t window = nullptr;
  nccl(ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat32, ncclScalarHostImmediate, p.comm));
  say("fine", ncclAllReduce(data, data, 4, ncclFloat32, op, p.comm, p.stream));
  // line: handles
  say("type", ncclAllReduce(data, data, 4, ncclInt32, op, p.comm, p.stream));
  say("scalar", ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat32, ncclScalarDevice, p.comm));
  nccl(ncclRedOpDestroy(op, p.comm));
  say("destroyed", ncclAllReduce(data, data, 4, ncclFloat32, op, p.comm, p.stream));
  say("again", ncclRedOpDestroy(op, p.comm));
  say("built in", ncclRedOpDestroy(ncclSum, p.comm));
  say("host memory", ncclCommRegister(p.comm, &scalar, 4, &handle));
  say("too long", ncclCommRegister(p.comm, data, 1000, &handle));
  say("flags", ncclCommWindowRegister(p.comm, data, 256, &window, 8));
  nccl(ncclCommRegister(p.comm, data, 256, &handle));
  nccl(ncclCommWindowRegister(p.comm, data, 256, &window, NCCL_WIN_DEFAULT));
  say("other kind", ncclCommDeregister(p.comm, window));
  nccl(ncclCommDeregister(p.comm, handle));
  say("again", ncclCommDeregister(p.comm, handle));
  nccl(ncclCommWindowDeregister(p.comm, window));
  say("again", ncclCommWindowDeregister(p.comm, window));
  nccl(ncclCommDestroy(p.comm));
}

void graph_without_communicator() {
  Party p;
  cuda(cudaStreamCreate(&p.stream));
  nccl(ncclCommInitAll(&p.comm, 1, nullptr));
  float* data = memory(p);
  const cudaGraphExec_t graph =
      captured(p, [&] { return ncclAllReduce(data, data, 4, ncclFloat32, ncclSum, p.comm, p.stream); });
  nccl(ncclCommDestroy(p.comm));
  cuda(cudaGraphLaunch(graph, p.stream));
  cuda(cudaStreamSynchronize(p.stream));
  std::printf("last: %s\n", ncclGetLastError(nullptr));
}

// Two ranks, one thread.
void forgotten_group() {
  ncclComm_t comms[2];
  nccl(ncclCommInitAll(comms, 2, nullptr));
  for (int rank = 0; rank < 2; ++rank) {
    Party p{rank, 2, rank, comms[rank], nullptr};
    float* data = memory(p);
    // line: forgotten_group
    say("call", ncclAllReduce(data, data, 4, ncclFloat32, ncclSum, p.comm, nullptr));
  }
}

void forgotten_group_of_sends() {
  ncclComm_t comms[2];
  nccl(ncclCommInitAll(comms, 2, nullptr));
  float* data[2];
  for (int rank = 0; rank < 2; ++rank) data[rank] = memory({rank, 2, rank, comms[rank], nullptr});
  // line: forgotten_group_of_sends
  say("call", ncclSend(data[0], 4, ncclFloat32, 1, comms[0], nullptr));
  say("call", ncclRecv(data[1], 4, ncclFloat32, 0, comms[1], nullptr));
}

void forgotten_group_of_inits() {
  ncclUniqueId id;
  nccl(ncclGetUniqueId(&id));
  ncclComm_t comms[2];
  for (int rank = 0; rank < 2; ++rank) {
    cuda(cudaSetDevice(rank));
    // line: forgotten_group_of_inits
    const ncclResult_t result = ncclCommInitRank(&comms[rank], 2, id, rank);
    say("call", result);
    if (result != ncclSuccess) return;
  }
}

void one_device() {
  ncclUniqueId id;
  nccl(ncclGetUniqueId(&id));
  ncclComm_t comms[2];
  nccl(ncclGroupStart());
  // line: one_device
  for (int rank = 0; rank < 2; ++rank) nccl(ncclCommInitRank(&comms[rank], 2, id, rank));
  say("call", ncclGroupEnd());
  // A program that does not look at results goes on; what it should know is still what failed first.
  say("without one", ncclAllReduce(nullptr, nullptr, 1, ncclFloat32, ncclSum, nullptr, nullptr));
  const char* const last = ncclGetLastError(nullptr);
  std::printf("last: %s\n",
              std::strstr(last, "both use device 0") && std::strstr(last, "is NULL") ? "yes" : last);
}

void wrong_device() {
  ncclComm_t comms[2];
  nccl(ncclCommInitAll(comms, 2, nullptr));
  Party p{0, 2, 0, comms[0], nullptr};
  float* data = memory(p);
  // line: wrong_device
  say("memory", ncclAllReduce(data, data, 4, ncclFloat32, ncclSum, comms[1], nullptr));
  cuda(cudaStreamCreate(&p.stream));
  p.device = 1;
  data = memory(p);
  say("stream", ncclAllReduce(data, data, 4, ncclFloat32, ncclSum, comms[1], p.stream));
}

void no_end() {
  ncclComm_t comm;
  nccl(ncclCommInitAll(&comm, 1, nullptr));
  float* data = memory({0, 1, 0, comm, nullptr});
  // line: no_end
  nccl(ncclGroupStart());
  say("call", ncclAllReduce(data, data, 4, ncclFloat32, ncclSum, comm, nullptr));
  cudaDeviceSynchronize();
  say("destroy", ncclCommDestroy(comm));
}

const std::map<std::string, void (*)()> alone = {
    {"arguments", arguments},
    {"handles", handles},
    {"graph_without_communicator", graph_without_communicator},
    {"forgotten_group", forgotten_group},
    {"forgotten_group_of_sends", forgotten_group_of_sends},
    {"forgotten_group_of_inits", forgotten_group_of_inits},
    {"one_device", one_device},
    {"wrong_device", wrong_device},
    {"no_end", no_end},
};

} // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (const auto found = alone.find(name); found != alone.end()) {
    found->second();
    return 0;
  }
  const auto found = of_rank.find(name);
  if (found == of_rank.end() || argc < 3) return 2;
  const std::string how = argv[2];
  const int size = how == "processes" ? own_size() : std::atoi(argv[3]);
  // A communicator that failed is destroyed with its error, which is not this test's.
  if (how == "processes") {
    ncclUniqueId id = shared_id(own_rank());
    Party party{own_rank(), size, 0, nullptr, nullptr};
    cuda(cudaStreamCreate(&party.stream));
    nccl(ncclCommInitRank(&party.comm, size, id, party.rank));
    found->second(party);
    ncclCommDestroy(party.comm);
    return 0;
  }
  ncclUniqueId id;
  nccl(ncclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      Party party{rank, size, rank, nullptr, nullptr};
      cuda(cudaSetDevice(rank));
      cuda(cudaStreamCreate(&party.stream));
      nccl(ncclCommInitRank(&party.comm, size, id, rank));
      found->second(party);
      ncclCommDestroy(party.comm);
    });
  for (std::thread& thread : threads) thread.join();
  return 0;
}
