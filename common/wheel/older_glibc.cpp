// The statically linked libstdc++ needs one function that glibc has only since 2.36. With our own version of
// it, the package runs with glibc 2.34 too, as on Ubuntu 22.04 and Red Hat 9. Nothing in the emulator uses
// random numbers.
#include <cstdint>
#include <cstdlib>
#include <sys/random.h>

extern "C" __attribute__((visibility("hidden"))) std::uint32_t arc4random() noexcept {
  std::uint32_t number;
  if (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) std::abort();
  return number;
}
