#include "promises/usual.hpp"

namespace lab::promises {

std::vector<Rung> naive_atomic() {
  return {Rung("naive_atomic")
              .tried_beyond_32_bits(Beyond32Bits::in_tiles)
              .promise(equal(
                  Counter::atomic_operations, [](const Size& s) { return double(s.n); },
                  "each thread must add its element to the result with one atomic"))
              .promise(one_element_per_thread())
              .promise(none(Counter::shuffles, "this rung works without shuffles"))
              .promise(none(Counter::shared_accesses, "this rung works without shared memory"))};
}

} // namespace lab::promises
