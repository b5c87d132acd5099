// Every collective with every type and operator, against the host. Prints how many results it compared, or
// the first that is wrong. Usage: collectives group|threads|processes|pairs [RANKS]
#include "ranks.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <memory>
#include <mutex>
#include <type_traits>

namespace {

std::atomic<long> compared = 0;

[[noreturn]] void wrong(const std::string& what) {
  std::printf("wrong: %s\n", what.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

// Halves by CUDA's own conversions, so that nothing here shares code with the library.
template <typename T>
double value(T x) {
  if constexpr (std::is_same_v<T, __half>)
    return __half2float(x);
  else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return __bfloat162float(x);
  else
    return static_cast<double>(x);
}
template <typename T>
T rounded(float x) {
  if constexpr (std::is_same_v<T, __half>)
    return __float2half_rn(x);
  else
    return __float2bfloat16_rn(x);
}
template <typename T>
constexpr bool is_half = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;

// Rounding matters, and whole numbers wrap round.
template <typename T>
T element(int rank, std::size_t i) {
  const auto mixed = static_cast<std::uint32_t>((rank * 7919 + i * 104729 + 17) * 2654435761u);
  if constexpr (is_half<T>)
    return rounded<T>(static_cast<float>(mixed >> 8) * 0x1p-24f * 5 - 1);
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(mixed) / 1e9f - 1;
  else
    return static_cast<T>(mixed * 0x9e3779b97f4a7c15ull >> (64 - 8 * sizeof(T)));
}

template <typename T>
T expected(ncclRedOp_t op, int size, std::size_t i) {
  T total = element<T>(0, i);
  for (int rank = 1; rank < size; ++rank) {
    const T next = element<T>(rank, i);
    if (op == ncclMax || op == ncclMin) {
      total = (value(next) > value(total)) == (op == ncclMax) ? next : total;
      if constexpr (std::is_integral_v<T>) { // double does not hold 64 bits
        const T before = expected<T>(op, rank, i);
        total = op == ncclMax ? std::max(before, next) : std::min(before, next);
      }
    } else if constexpr (is_half<T>) {
      const auto a = static_cast<float>(value(total)), b = static_cast<float>(value(next));
      total = rounded<T>(op == ncclProd ? a * b : a + b);
    } else if constexpr (std::is_integral_v<T>) {
      using Bits = std::make_unsigned_t<T>; // in which an overflow is defined
      const std::uint64_t a = static_cast<Bits>(total), b = static_cast<Bits>(next);
      total = static_cast<T>(op == ncclProd ? a * b : a + b);
    } else {
      total = op == ncclProd ? total * next : total + next;
    }
  }
  if (op != ncclAvg) return total;
  if constexpr (is_half<T>)
    return rounded<T>(static_cast<float>(value(total)) / static_cast<float>(size));
  else
    return static_cast<T>(total / static_cast<T>(size));
}

// What a rank multiplies its elements by. A power of two where nothing says how a product is rounded.
template <typename T>
T scalar_of(int rank) {
  if constexpr (is_half<T>)
    return rounded<T>(1 + 0.25f * static_cast<float>(rank));
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(rank % 2 ? -0.5 : 2) / static_cast<T>(1 << rank);
  else
    return static_cast<T>(std::int64_t{rank} + 3);
}
template <typename T>
T scaled(int rank, std::size_t i) {
  const T a = element<T>(rank, i), b = scalar_of<T>(rank);
  if constexpr (is_half<T>)
    return rounded<T>(static_cast<float>(value(a)) * static_cast<float>(value(b)));
  else if constexpr (std::is_floating_point_v<T>)
    return a * b;
  else
    return static_cast<T>(std::uint64_t{std::make_unsigned_t<T>(a)} * std::make_unsigned_t<T>(b));
}
template <typename T>
T sum_of_scaled(int size, std::size_t i) {
  T total = scaled<T>(0, i);
  for (int rank = 1; rank < size; ++rank) {
    const T next = scaled<T>(rank, i);
    if constexpr (is_half<T>)
      total = rounded<T>(static_cast<float>(value(total)) + static_cast<float>(value(next)));
    else if constexpr (std::is_floating_point_v<T>)
      total = total + next;
    else
      total = static_cast<T>(std::uint64_t{std::make_unsigned_t<T>(total)} + std::make_unsigned_t<T>(next));
  }
  return total;
}

// To compare values bit by bit.
template <typename T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

// Device memory of one rank, filled with that rank's elements from `first` on.
template <typename T>
struct Buffer {
  Buffer(const Party& party, std::size_t count, bool filled, std::size_t first = 0)
      : party(party), count(count) {
    cuda(cudaSetDevice(party.device));
    cuda(cudaMalloc(reinterpret_cast<void**>(&data), std::max<std::size_t>(count, 1) * sizeof(T)));
    std::vector<T> host(count);
    for (std::size_t i = 0; i < count; ++i) host[i] = filled ? element<T>(party.rank, first + i) : T{};
    cuda(cudaMemcpy(data, host.data(), count * sizeof(T), cudaMemcpyHostToDevice)); // the stream waits for it
  }
  // cudaFree would wait for the device, and so for the other ranks.
  ~Buffer() { cuda(cudaFreeAsync(data, party.stream)); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  template <typename Wanted>
  void compare(const std::string& what, std::size_t from, std::size_t length, Wanted wanted) {
    cuda(cudaSetDevice(party.device));
    std::vector<T> host(length);
    cuda(cudaMemcpy(host.data(), data + from, length * sizeof(T), cudaMemcpyDeviceToHost));
    for (std::size_t i = 0; i < length; ++i) {
      const T want = wanted(i);
      if (bits_of(host[i]) != bits_of(want))
        wrong(what + " on rank " + std::to_string(party.rank) + " at " + std::to_string(from + i) + ": " +
              std::to_string(value(host[i])) + " instead of " + std::to_string(value(want)));
      ++compared;
    }
  }

  const Party party;
  const std::size_t count;
  T* data = nullptr;
};

template <typename T>
using Buffers = std::vector<std::unique_ptr<Buffer<T>>>;

template <typename T>
struct Cases {
  std::vector<Party>& parties;
  const ncclDataType_t type;
  const std::string name;
  const int size = parties[0].size;

  Buffers<T> buffers(std::size_t count, bool filled = true) {
    Buffers<T> all;
    for (const Party& party : parties) all.push_back(std::make_unique<Buffer<T>>(party, count, filled));
    return all;
  }
  template <typename Call>
  void together(Call call) {
    nccl(ncclGroupStart());
    for (std::size_t i = 0; i < parties.size(); ++i) nccl(call(i, parties[i]));
    nccl(ncclGroupEnd());
  }

  void reductions(ncclRedOp_t op, std::size_t count) {
    const std::string what = name + " op " + std::to_string(op) + " count " + std::to_string(count);
    const int root = size - 1;
    for (bool in_place : {false, true}) {
      Buffers<T> send = buffers(count), receive = buffers(count, false);
      const auto to = [&](std::size_t i) { return (in_place ? send : receive)[i].get(); };
      together([&](std::size_t i, const Party& party) {
        return ncclAllReduce(send[i]->data, to(i)->data, count, type, op, party.comm, party.stream);
      });
      for (std::size_t i = 0; i < parties.size(); ++i)
        to(i)->compare("AllReduce " + what, 0, count,
                       [&](std::size_t at) { return expected<T>(op, size, at); });

      Buffers<T> again = buffers(count), result = buffers(count, false);
      const auto root_to = [&](std::size_t i) { return (in_place ? again : result)[i].get(); };
      together([&](std::size_t i, const Party& party) {
        return ncclReduce(again[i]->data, party.rank == root ? root_to(i)->data : nullptr, count, type, op,
                          root, party.comm, party.stream);
      });
      for (std::size_t i = 0; i < parties.size(); ++i) {
        if (parties[i].rank == root)
          root_to(i)->compare("Reduce " + what, 0, count,
                              [&](std::size_t at) { return expected<T>(op, size, at); });
        else
          again[i]->compare("Reduce's input " + what, 0, count,
                            [&](std::size_t at) { return element<T>(parties[i].rank, at); });
      }

      Buffers<T> whole = buffers(count * size), share = buffers(count, false);
      const auto begin = [&](std::size_t i) { return in_place ? parties[i].rank * count : 0; };
      together([&](std::size_t i, const Party& party) {
        return ncclReduceScatter(whole[i]->data, in_place ? whole[i]->data + begin(i) : share[i]->data, count,
                                 type, op, party.comm, party.stream);
      });
      for (std::size_t i = 0; i < parties.size(); ++i)
        (in_place ? whole : share)[i]->compare("ReduceScatter " + what, begin(i), count, [&](std::size_t at) {
          return expected<T>(op, size, parties[i].rank * count + at);
        });
    }
  }

  // Scalars on the host, and of odd ranks on the device. Each rank numbers its operators otherwise.
  void scaled_sums(std::size_t count) {
    const std::string what = name + " scaled, count " + std::to_string(count);
    std::vector<std::unique_ptr<Buffer<T>>> scalars;
    std::vector<ncclRedOp_t> ops;
    for (const Party& party : parties) {
      T scalar = scalar_of<T>(party.rank);
      scalars.push_back(std::make_unique<Buffer<T>>(party, 1, false));
      cuda(cudaMemcpy(scalars.back()->data, &scalar, sizeof scalar, cudaMemcpyHostToDevice));
      std::vector<ncclRedOp_t> others(party.rank % 3);
      for (ncclRedOp_t& other : others)
        nccl(ncclRedOpCreatePreMulSum(&other, &scalar, ncclInt8, ncclScalarHostImmediate, party.comm));
      ncclRedOp_t op{};
      nccl(party.rank % 2
               ? ncclRedOpCreatePreMulSum(&op, scalars.back()->data, type, ncclScalarDevice, party.comm)
               : ncclRedOpCreatePreMulSum(&op, &scalar, type, ncclScalarHostImmediate, party.comm));
      scalar = T{}; // it has been read
      ops.push_back(op);
      for (const ncclRedOp_t other : others) nccl(ncclRedOpDestroy(other, party.comm));
    }
    Buffers<T> send = buffers(count), whole = buffers(count * size), share = buffers(count, false);
    together([&](std::size_t i, const Party& party) {
      nccl(ncclAllReduce(send[i]->data, send[i]->data, count, type, ops[i], party.comm, party.stream));
      const ncclResult_t result =
          ncclReduceScatter(whole[i]->data, share[i]->data, count, type, ops[i], party.comm, party.stream);
      nccl(ncclRedOpDestroy(ops[i], party.comm)); // the calls that were given it have returned
      return result;
    });
    for (std::size_t i = 0; i < parties.size(); ++i) {
      send[i]->compare("AllReduce " + what, 0, count,
                       [&](std::size_t at) { return sum_of_scaled<T>(size, at); });
      share[i]->compare("ReduceScatter " + what, 0, count,
                        [&](std::size_t at) { return sum_of_scaled<T>(size, parties[i].rank * count + at); });
    }
  }

  // Element i of what the root scatters, or any rank sends to all, is element<T>(rank, i).
  void shares(std::size_t count) {
    const std::string what = name + " count " + std::to_string(count);
    const int root = size - 1;
    const auto from_all = [&](std::size_t at) {
      return element<T>(static_cast<int>(at / count), at % count);
    };
    for (bool in_place : {false, true}) {
      const auto own = [&](const Party& party) { return party.rank * count; };
      Buffers<T> part = buffers(count), all = buffers(count * size, false);
      const bool root_is_here = parties.back().rank == root;
      if (in_place && root_is_here) {
        const Party& party = parties.back();
        cuda(cudaSetDevice(party.device));
        cuda(cudaMemcpyAsync(all.back()->data + own(party), part.back()->data, count * sizeof(T),
                             cudaMemcpyDefault, party.stream));
      }
      together([&](std::size_t i, const Party& party) {
        const bool is_root = party.rank == root;
        return ncclGather(in_place && is_root ? all[i]->data + own(party) : part[i]->data,
                          is_root ? all[i]->data : nullptr, count, type, root, party.comm, party.stream);
      });
      if (root_is_here) all.back()->compare("Gather " + what, 0, count * size, from_all);

      Buffers<T> send = buffers(count * size), receive = buffers(count, false);
      together([&](std::size_t i, const Party& party) {
        const bool is_root = party.rank == root;
        return ncclScatter(is_root ? send[i]->data : nullptr,
                           in_place && is_root ? send[i]->data + own(party) : receive[i]->data, count, type,
                           root, party.comm, party.stream);
      });
      for (std::size_t i = 0; i < parties.size(); ++i) {
        const bool stays = in_place && parties[i].rank == root;
        (stays ? send : receive)[i]->compare(
            "Scatter " + what, stays ? own(parties[i]) : 0, count,
            [&](std::size_t at) { return element<T>(root, own(parties[i]) + at); });
      }

      Buffers<T> out = buffers(count * size), in = buffers(count * size, false);
      together([&](std::size_t i, const Party& party) {
        return ncclAlltoAll(out[i]->data, (in_place ? out : in)[i]->data, count, type, party.comm,
                            party.stream);
      });
      for (std::size_t i = 0; i < parties.size(); ++i)
        (in_place ? out : in)[i]->compare("AlltoAll " + what, 0, count * size, [&](std::size_t at) {
          return element<T>(static_cast<int>(at / count), own(parties[i]) + at % count);
        });
    }
  }

  void moves(std::size_t count) {
    const std::string what = name + " count " + std::to_string(count);
    for (bool in_place : {false, true}) {
      Buffers<T> send = buffers(count), receive = buffers(count, false);
      together([&](std::size_t i, const Party& party) {
        return in_place ? ncclBcast(send[i]->data, count, type, size / 2, party.comm, party.stream)
                        : ncclBroadcast(send[i]->data, receive[i]->data, count, type, size / 2, party.comm,
                                        party.stream);
      });
      for (auto& buffer : in_place ? send : receive)
        buffer->compare("Broadcast " + what, 0, count,
                        [&](std::size_t at) { return element<T>(size / 2, at); });

      Buffers<T> part = buffers(count), all = buffers(count * size, false);
      for (std::size_t i = 0; i < parties.size() && in_place; ++i) {
        cuda(cudaSetDevice(parties[i].device));
        cuda(cudaMemcpyAsync(all[i]->data + parties[i].rank * count, part[i]->data, count * sizeof(T),
                             cudaMemcpyDefault, parties[i].stream));
      }
      together([&](std::size_t i, const Party& party) {
        return ncclAllGather(in_place ? all[i]->data + party.rank * count : part[i]->data, all[i]->data,
                             count, type, party.comm, party.stream);
      });
      for (auto& buffer : all)
        buffer->compare("AllGather " + what, 0, count * size,
                        [&](std::size_t at) { return element<T>(static_cast<int>(at / count), at % count); });
    }
    // Round the ring, and two more to the neighbour, of which the second is shorter.
    Buffers<T> send = buffers(count), receive = buffers(count, false), second = buffers(count, false);
    together([&](std::size_t i, const Party& party) {
      const int next = (party.rank + 1) % size, previous = (party.rank + size - 1) % size;
      nccl(ncclSend(send[i]->data, count, type, next, party.comm, party.stream));
      nccl(ncclSend(send[i]->data, count / 2, type, next, party.comm, party.stream));
      nccl(ncclRecv(receive[i]->data, count, type, previous, party.comm, party.stream));
      return ncclRecv(second[i]->data, count / 2, type, previous, party.comm, party.stream);
    });
    for (std::size_t i = 0; i < parties.size(); ++i) {
      const int previous = (parties[i].rank + size - 1) % size;
      receive[i]->compare("Recv " + what, 0, count, [&](std::size_t at) { return element<T>(previous, at); });
      second[i]->compare("second Recv " + what, 0, count / 2,
                         [&](std::size_t at) { return element<T>(previous, at); });
    }
  }

  // The root of a broadcast waits for nobody, until what it sent would be overwritten.
  void ahead() {
    constexpr std::size_t count = 8'000'000 / sizeof(T);
    Buffers<T> data = buffers(count);
    together([&](std::size_t i, const Party& party) {
      return ncclBcast(data[i]->data, count, type, 0, party.comm, party.stream);
    });
    for (auto& buffer : data)
      buffer->compare("a long Bcast of " + name, 0, count, [&](std::size_t at) { return element<T>(0, at); });
  }

  void run(bool long_ones) {
    for (std::size_t count : {0, 1, 37}) {
      for (int op = 0; op < ncclNumOps; ++op) reductions(static_cast<ncclRedOp_t>(op), count);
      scaled_sums(count);
      moves(count);
      shares(count);
    }
    if (!long_ones) return;
    constexpr std::size_t many = 1'200'003 / sizeof(T); // several pieces each, of which the last is short
    reductions(ncclSum, many);
    scaled_sums(many);
    moves(many);
    shares(many);
  }
};

// Registered memory is used as any other, and deregistered by the handle.
void registered(std::vector<Party>& parties) {
  constexpr std::size_t count = 1000;
  std::vector<std::unique_ptr<Buffer<float>>> send, receive;
  std::vector<void*> handles(parties.size());
  std::vector<ncclWindow_t> windows(parties.size());
  for (const Party& party : parties) {
    send.push_back(std::make_unique<Buffer<float>>(party, count, true));
    receive.push_back(std::make_unique<Buffer<float>>(party, count, false));
  }
  nccl(ncclGroupStart());
  for (std::size_t i = 0; i < parties.size(); ++i) {
    nccl(ncclCommRegister(parties[i].comm, send[i]->data, count * sizeof(float), &handles[i]));
    nccl(ncclCommWindowRegister(parties[i].comm, receive[i]->data, count * sizeof(float), &windows[i],
                                NCCL_WIN_COLL_SYMMETRIC));
  }
  nccl(ncclGroupEnd());
  nccl(ncclGroupStart());
  for (std::size_t i = 0; i < parties.size(); ++i)
    nccl(ncclAllReduce(send[i]->data, receive[i]->data, count, ncclFloat32, ncclMax, parties[i].comm,
                       parties[i].stream));
  nccl(ncclGroupEnd());
  for (std::size_t i = 0; i < parties.size(); ++i) {
    receive[i]->compare("AllReduce of registered memory", 0, count,
                        [&](std::size_t at) { return expected<float>(ncclMax, parties[i].size, at); });
    nccl(ncclCommDeregister(parties[i].comm, handles[i]));
    nccl(ncclCommWindowDeregister(parties[i].comm, windows[i]));
  }
}

// Freed at the end: to free pinned memory is to wait for the devices, and so for the other ranks.
std::vector<float*> all_pinned;
float* pinned(std::size_t count) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  void* memory = nullptr;
  cuda(cudaMallocHost(&memory, count * sizeof(float)));
  all_pinned.push_back(static_cast<float*>(memory));
  return all_pinned.back();
}

// The stream's earlier work comes before a collective, and its later work after it; and so across two
// streams.
void order(std::vector<Party>& parties) {
  constexpr std::size_t count = 100'000;
  std::vector<float*> data;
  std::vector<float*> host;
  std::vector<cudaStream_t> other;
  for (const Party& party : parties) {
    cuda(cudaSetDevice(party.device));
    host.push_back(pinned(count));
    data.emplace_back();
    other.emplace_back();
    cuda(cudaMalloc(reinterpret_cast<void**>(&data.back()), count * sizeof(float)));
    cuda(cudaStreamCreateWithFlags(&other.back(), cudaStreamNonBlocking));
  }
  for (int round = 0; round < 5; ++round) {
    for (std::size_t i = 0; i < parties.size(); ++i) {
      std::fill_n(host[i], count, static_cast<float>(round));
      cuda(cudaSetDevice(parties[i].device));
      cuda(cudaMemcpyAsync(data[i], host[i], count * sizeof(float), cudaMemcpyHostToDevice,
                           parties[i].stream));
    }
    nccl(ncclGroupStart());
    for (std::size_t i = 0; i < parties.size(); ++i)
      nccl(ncclAllReduce(data[i], data[i], count, ncclFloat32, ncclSum, parties[i].comm, parties[i].stream));
    nccl(ncclGroupEnd());
    // The second collective is in another stream; NCCL keeps the order of one communicator's.
    nccl(ncclGroupStart());
    for (std::size_t i = 0; i < parties.size(); ++i)
      nccl(ncclAllReduce(data[i], data[i], count, ncclFloat32, ncclSum, parties[i].comm, other[i]));
    nccl(ncclGroupEnd());
    for (std::size_t i = 0; i < parties.size(); ++i) {
      cuda(cudaSetDevice(parties[i].device));
      cuda(cudaMemcpyAsync(host[i], data[i], count * sizeof(float), cudaMemcpyDeviceToHost, other[i]));
    }
    for (std::size_t i = 0; i < parties.size(); ++i) {
      cuda(cudaSetDevice(parties[i].device));
      cuda(cudaStreamSynchronize(other[i]));
      const int size = parties[i].size;
      if (std::any_of(host[i], host[i] + count,
                      [&](float got) { return got != static_cast<float>(round * size * size); }))
        wrong("the order of a stream's work");
      compared += count;
    }
  }
  for (std::size_t i = 0; i < parties.size(); ++i) {
    cuda(cudaSetDevice(parties[i].device));
    cuda(cudaFreeAsync(data[i], other[i]));
    cuda(cudaStreamDestroy(other[i]));
  }
}

// Halves by parity, in the opposite order; and a communicator without rank 0.
void splits(std::vector<Party>& parties) {
  std::vector<ncclComm_t> halves(parties.size()), rest(parties.size());
  nccl(ncclGroupStart());
  for (std::size_t i = 0; i < parties.size(); ++i)
    nccl(ncclCommSplit(parties[i].comm, parties[i].rank % 2, -parties[i].rank, &halves[i], nullptr));
  nccl(ncclGroupEnd());
  nccl(ncclGroupStart());
  for (std::size_t i = 0; i < parties.size(); ++i)
    nccl(ncclCommSplit(parties[i].comm, parties[i].rank == 0 ? NCCL_SPLIT_NOCOLOR : 3, 0, &rest[i], nullptr));
  nccl(ncclGroupEnd());
  for (std::size_t i = 0; i < parties.size(); ++i) {
    const Party& party = parties[i];
    const int members = (party.size + 1 - party.rank % 2) / 2;
    int rank = -1, size = -1, device = -1;
    nccl(ncclCommUserRank(halves[i], &rank));
    nccl(ncclCommCount(halves[i], &size));
    nccl(ncclCommCuDevice(halves[i], &device));
    if (size != members || rank != members - 1 - party.rank / 2 || device != party.device)
      wrong("a half's rank or size");
    if ((rest[i] == nullptr) != (party.rank == 0)) wrong("NCCL_SPLIT_NOCOLOR");
    compared += 2;
  }
  std::vector<std::unique_ptr<Buffer<std::int32_t>>> data;
  for (const Party& party : parties) data.push_back(std::make_unique<Buffer<std::int32_t>>(party, 10, true));
  nccl(ncclGroupStart());
  for (std::size_t i = 0; i < parties.size(); ++i)
    nccl(ncclAllReduce(data[i]->data, data[i]->data, 10, ncclInt32, ncclMax, halves[i], parties[i].stream));
  nccl(ncclGroupEnd());
  for (std::size_t i = 0; i < parties.size(); ++i)
    data[i]->compare("a half's AllReduce", 0, 10, [&](std::size_t at) {
      std::int32_t most = INT32_MIN;
      for (int rank = parties[i].rank % 2; rank < parties[i].size; rank += 2)
        most = std::max(most, element<std::int32_t>(rank, at));
      return most;
    });
  for (std::size_t i = 0; i < parties.size(); ++i) {
    nccl(ncclCommDestroy(halves[i]));
    nccl(ncclCommDestroy(rest[i]));
  }
}

} // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "group";
  const int size = how == "processes" ? own_size()
                   : how == "pairs"   ? 2 * own_size()
                   : argc > 2         ? std::atoi(argv[2])
                                      : 2;
  with_parties(how, size, [](std::vector<Party>& parties) {
    Cases<std::int8_t>{parties, ncclInt8, "int8"}.run(true);
    Cases<std::uint8_t>{parties, ncclUint8, "uint8"}.run(false);
    Cases<std::int32_t>{parties, ncclInt32, "int32"}.run(false);
    Cases<std::uint32_t>{parties, ncclUint32, "uint32"}.run(false);
    Cases<std::int64_t>{parties, ncclInt64, "int64"}.run(false);
    Cases<std::uint64_t>{parties, ncclUint64, "uint64"}.run(false);
    Cases<__half>{parties, ncclFloat16, "float16"}.run(false);
    Cases<__nv_bfloat16>{parties, ncclBfloat16, "bfloat16"}.run(false);
    Cases<float>{parties, ncclFloat32, "float32"}.run(true);
    Cases<double>{parties, ncclFloat64, "float64"}.run(false);
    Cases<double>{parties, ncclFloat64, "float64"}.ahead();
    registered(parties);
    order(parties);
    splits(parties);
  });
  for (float* memory : all_pinned) cuda(cudaFreeHost(memory));
  std::printf("%ld results are right\n", compared.load());
  return 0;
}
