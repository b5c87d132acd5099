// The ranks that a test program has: all of them on one thread, one for each thread, or one for each process.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime_api.h>
#include <functional>
#include <nccl.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

inline void cuda(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("CUDA: %s\n", cudaGetErrorString(error));
  std::fflush(stdout);
  std::_Exit(3);
}

inline void nccl(ncclResult_t result) {
  if (result == ncclSuccess) return;
  std::printf("NCCL: %s\n", ncclGetErrorString(result));
  std::fflush(stdout);
  std::_Exit(4);
}

// By mpirun, or by the test's driver.
inline int from_environment(const char* one, const char* other) {
  const char* text = std::getenv(one);
  if (!text) text = std::getenv(other);
  return text ? std::atoi(text) : -1;
}
inline int own_rank() {
  return from_environment("TEST_RANK", "OMPI_COMM_WORLD_RANK");
}
inline int own_size() {
  return from_environment("TEST_SIZE", "OMPI_COMM_WORLD_SIZE");
}

// One process makes the id, and the others read it from a file, as they would get it from MPI_Bcast.
inline ncclUniqueId shared_id(int rank) {
  const char* path = std::getenv("TEST_ID");
  ncclUniqueId id{};
  if (!path) {
    std::printf("TEST_ID names no file\n");
    std::_Exit(2);
  }
  if (rank == 0) {
    nccl(ncclGetUniqueId(&id));
    const std::string draft = std::string(path) + ".draft";
    std::FILE* file = std::fopen(draft.c_str(), "wb");
    if (!file || std::fwrite(&id, sizeof id, 1, file) != 1) std::_Exit(2);
    std::fclose(file);
    std::rename(draft.c_str(), path);
    return id;
  }
  for (int i = 0; i < 3000; ++i, usleep(10000))
    if (std::FILE* file = std::fopen(path, "rb")) {
      const bool is_whole = std::fread(&id, sizeof id, 1, file) == 1;
      std::fclose(file);
      if (is_whole) return id;
    }
  std::printf("rank 0 has made no id\n");
  std::_Exit(2);
}

// One rank with what it needs.
struct Party {
  int rank = 0, size = 0, device = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
};

// Runs `body` with each set of ranks that one thread holds. `how`: group, threads, processes, or pairs:
// processes with two ranks on a thread each.
inline void with_parties(const std::string& how, int size,
                         const std::function<void(std::vector<Party>&)>& body) {
  if (how == "group") {
    std::vector<ncclComm_t> comms(size);
    nccl(ncclCommInitAll(comms.data(), size, nullptr));
    std::vector<Party> all;
    for (int rank = 0; rank < size; ++rank) {
      Party party{rank, size, rank, comms[rank], nullptr};
      cuda(cudaSetDevice(rank));
      cuda(cudaStreamCreate(&party.stream));
      all.push_back(party);
    }
    body(all);
    for (const Party& party : all) nccl(ncclCommDestroy(party.comm));
    return;
  }
  if (how == "pairs") {
    const ncclUniqueId id = shared_id(own_rank());
    std::vector<Party> both(2);
    nccl(ncclGroupStart());
    for (int i = 0; i < 2; ++i) {
      both[i] = {2 * own_rank() + i, size, i, nullptr, nullptr};
      cuda(cudaSetDevice(i));
      cuda(cudaStreamCreate(&both[i].stream));
      nccl(ncclCommInitRank(&both[i].comm, size, id, both[i].rank));
    }
    nccl(ncclGroupEnd());
    body(both);
    for (const Party& party : both) nccl(ncclCommDestroy(party.comm));
    return;
  }
  const auto one = [&](int rank, int device, const ncclUniqueId& id) {
    Party party{rank, size, device, nullptr, nullptr};
    cuda(cudaSetDevice(device));
    cuda(cudaStreamCreate(&party.stream));
    nccl(ncclCommInitRank(&party.comm, size, id, rank));
    std::vector<Party> alone{party};
    body(alone);
    nccl(ncclCommDestroy(party.comm));
  };
  if (how == "threads") {
    ncclUniqueId id;
    nccl(ncclGetUniqueId(&id));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) threads.emplace_back(one, rank, rank, id);
    for (std::thread& thread : threads) thread.join();
  } else {
    int devices = 0;
    cuda(cudaGetDeviceCount(&devices));
    one(own_rank(), own_rank() % devices, shared_id(own_rank()));
  }
}
