// Copies that no other host thread can see half done, and the order that strong accesses keep.
//
// The hardware moves a lane's vector of up to 16 bytes in one transaction, and programs rely on it: CUB
// stores a tile's status beside its value and reads both at once. (PTX ISA, "Memory Consistency Model",
// "Vector Data-types" guarantees less: one access per element, in no order.) Warps of different blocks run on
// different host threads, so the host must access each lane's bytes at once.
#pragma once

#include "code.hpp"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

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

struct alignas(16) Bits128 {
  std::uint64_t low, high;
};

#if defined(__aarch64__)

// Only a pair of general registers is moved as a whole, and only from Armv8.4 on; for a vector register, no
// processor guarantees more than its halves (Arm Architecture Reference Manual, B2.2.1, FEAT_LSE2). The
// kernel says whether this processor is one of them.
inline constexpr unsigned long hwcap_uscat = 1ul << 25;
inline const bool moves_pairs_whole = (getauxval(AT_HWCAP) & hwcap_uscat) != 0;

inline Bits128 load_pair(const std::byte* from) {
  Bits128 bits;
  asm volatile("ldp %0, %1, [%2]" : "=&r"(bits.low), "=r"(bits.high) : "r"(from) : "memory");
  return bits;
}
inline void store_pair(std::byte* to, Bits128 bits) {
  asm volatile("stp %0, %1, [%2]" : : "r"(bits.low), "r"(bits.high), "r"(to) : "memory");
}

// Older processors compare and exchange 16 bytes as a whole (CASP, or LDXP and STXP, whichever there is). A
// load writes back what was there, so the memory must be writable, as all device memory is.
typedef unsigned __int128 Whole128 __attribute__((may_alias));
inline Bits128 load_exchanging(const std::byte* from) {
  auto* place = reinterpret_cast<Whole128*>(const_cast<std::byte*>(from));
  const unsigned __int128 seen = __sync_val_compare_and_swap(place, 0, 0);
  return {static_cast<std::uint64_t>(seen), static_cast<std::uint64_t>(seen >> 64)};
}
inline void store_exchanging(std::byte* to, Bits128 bits) {
  auto* place = reinterpret_cast<Whole128*>(to);
  const auto wanted = static_cast<unsigned __int128>(bits.high) << 64 | bits.low;
  unsigned __int128 expected = *place; // a guess; a torn one does no harm
  for (unsigned __int128 seen; (seen = __sync_val_compare_and_swap(place, expected, wanted)) != expected;)
    expected = seen;
}

inline Bits128 load_bits128(const std::byte* from) {
  return moves_pairs_whole ? load_pair(from) : load_exchanging(from);
}
inline void store_bits128(std::byte* to, Bits128 bits) {
  return moves_pairs_whole ? store_pair(to, bits) : store_exchanging(to, bits);
}

#else

// Compilers move it with one instruction. x86-64 processors with AVX guarantee that an aligned one is atomic
// (Intel 64 Software Developer's Manual, volume 3, 9.1.1).
typedef std::uint64_t Vector128 __attribute__((vector_size(16), may_alias));
inline Bits128 load_bits128(const std::byte* from) {
  return std::bit_cast<Bits128>(load_whole<Vector128>(from));
}
inline void store_bits128(std::byte* to, Bits128 bits) {
  store_whole<Vector128>(to, std::bit_cast<Vector128>(bits));
}

#endif

template <typename Bits>
inline Bits load_bits(const std::byte* from) {
  if constexpr (sizeof(Bits) == 16)
    return load_bits128(from);
  else
    return load_whole<Bits>(from);
}
template <typename Bits>
inline void store_bits(std::byte* to, Bits bits) {
  if constexpr (sizeof(Bits) == 16)
    store_bits128(to, bits);
  else
    store_whole<Bits>(to, bits);
}

// Calls piece(Bits{}, offset) for each access that `bytes` at `memory` need. False if none would be whole.
template <typename Piece>
inline bool each_piece(const std::byte* memory, std::size_t bytes, Piece piece) {
  const std::size_t longest = bytes < 16 ? bytes : 16;
  if (reinterpret_cast<std::uintptr_t>(memory) % longest != 0) return false;
  switch (bytes) {
  case 1:
    return piece(std::uint8_t{}, 0), true;
  case 2:
    return piece(std::uint16_t{}, 0), true;
  case 4:
    return piece(std::uint32_t{}, 0), true;
  case 8:
    return piece(std::uint64_t{}, 0), true;
  default:
    for (std::size_t at = 0; at < bytes; at += longest) piece(Bits128{}, at);
    return true;
  }
}

} // namespace detail

// Copies 1, 2, 4, 8 or 16 bytes with one access to memory that others may be using, and 32 bytes with two.
// Unaligned data, which only a block's own memory can hold, may take more accesses.
inline void load_whole(std::byte* own, const std::byte* from, std::size_t bytes) {
  const bool whole = detail::each_piece(from, bytes, [=]<typename Bits>(Bits, std::size_t at) {
    const Bits bits = detail::load_bits<Bits>(from + at);
    std::memcpy(own + at, &bits, sizeof bits);
  });
  if (!whole) std::memcpy(own, from, bytes);
}
inline void store_whole(std::byte* to, const std::byte* own, std::size_t bytes) {
  const bool whole = detail::each_piece(to, bytes, [=]<typename Bits>(Bits, std::size_t at) {
    Bits bits;
    std::memcpy(&bits, own + at, sizeof bits);
    detail::store_bits<Bits>(to + at, bits);
  });
  if (!whole) std::memcpy(to, own, bytes);
}

// What follows an acquiring load stays after it, and what precedes a releasing store stays before it. x86
// keeps that order in hardware, so only the compiler must be kept from reordering there.
inline void order_after_load(MemoryOrder order) {
  if (order == MemoryOrder::acquire || order == MemoryOrder::acquire_release)
    std::atomic_thread_fence(std::memory_order_acquire);
}
inline void order_before_store(MemoryOrder order) {
  if (order == MemoryOrder::release || order == MemoryOrder::acquire_release)
    std::atomic_thread_fence(std::memory_order_release);
}

} // namespace warpfold::machine
