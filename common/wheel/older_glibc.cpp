// libstdc++, linked in as it is, asks for one function that glibc has only since 2.36; with one of our own
// the package runs where glibc is 2.34, as on Ubuntu 22.04 and Red Hat 9. Nothing in the emulator
// takes random numbers.
#include <cstdint>
#include <cstdlib>
#include <sys/random.h>

extern "C" __attribute__((visibility("hidden"))) std::uint32_t arc4random() noexcept {
  std::uint32_t number;
  if (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) std::abort();
  return number;
}
