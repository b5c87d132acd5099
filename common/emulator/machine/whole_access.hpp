// Copies that no other thread of the host can see half done, and the order that strong accesses keep.
//
// The hardware moves a lane's vector of up to 16 bytes in one transaction, and programs count on it: CUB
// stores a tile's status beside its value and reads both at once. (PTX ISA, "Memory Consistency Model",
// "Vector Data-types" promises less: one access for each element, in no order.) Warps of different blocks run
// on different threads of the host, so each lane's bytes have to go by one access of the host.
#pragma once

#include "code.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace warpfold::machine {

// Scalars, aligned to their size.
template <typename T>
inline T load_whole(const std::byte* from) {
  typedef T __attribute__((may_alias)) Aliased;
  return *reinterpret_cast<const volatile Aliased*>(from);
}
template <typename T>
inline void store_whole(std::byte* to, T value) {
  typedef T __attribute__((may_alias)) Aliased;
  *reinterpret_cast<volatile Aliased*>(to) = value;
}

namespace detail {

// Compilers move it with one instruction. x86-64 processors with AVX promise that an aligned one is atomic
// (Intel 64 Software Developer's Manual, volume 3, 9.1.1), 64-bit Arm ones from Armv8.4 on (FEAT_LSE2).
typedef std::uint64_t Bits128 __attribute__((vector_size(16), may_alias));

template <typename Bits>
inline void copy_bits(std::byte* to, const std::byte* from) {
  store_whole<Bits>(to, load_whole<Bits>(from));
}

} // namespace detail

// Copies 1, 2, 4, 8 or 16 bytes by one access on either side, 32 by two. What is not aligned to its size, as
// only a block's own memory can be, is copied by however many.
inline void copy_whole(std::byte* to, const std::byte* from, std::size_t bytes) {
  const auto both = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
  const std::size_t piece = bytes < 16 ? bytes : 16;
  if (both % piece != 0) {
    std::memcpy(to, from, bytes);
    return;
  }
  switch (bytes) {
  case 1:
    return detail::copy_bits<std::uint8_t>(to, from);
  case 2:
    return detail::copy_bits<std::uint16_t>(to, from);
  case 4:
    return detail::copy_bits<std::uint32_t>(to, from);
  case 8:
    return detail::copy_bits<std::uint64_t>(to, from);
  default:
    for (std::size_t done = 0; done < bytes; done += piece)
      detail::copy_bits<detail::Bits128>(to + done, from + done);
  }
}

// What follows an acquiring load stays behind it, and what precedes a releasing store before it. x86 keeps
// that order by itself, so there only the compiler is told.
inline void order_after_load(MemoryOrder order) {
  if (order == MemoryOrder::acquire || order == MemoryOrder::acquire_release)
    std::atomic_thread_fence(std::memory_order_acquire);
}
inline void order_before_store(MemoryOrder order) {
  if (order == MemoryOrder::release || order == MemoryOrder::acquire_release)
    std::atomic_thread_fence(std::memory_order_release);
}

} // namespace warpfold::machine
