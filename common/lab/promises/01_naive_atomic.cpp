#include "promises/usual.hpp"

namespace lab::promises {

std::vector<Rung> naive_atomic() {
  return {Rung("naive_atomic")
              .promise(equal(
                  Counter::atomic_operations, [](const Size& s) { return double(s.n); },
                  "every element must be added to the result by one atomic of its own thread"))
              .promise(one_thread_per_element())
              .promise(reads_each_element_once())
              .promise(each_thread_reads_at_most(one_element))
              .promise(neighbours_read_neighbours())
              .promise(none(Counter::shuffles, "this rung works without shuffles"))
              .promise(none(Counter::shared_accesses, "this rung works without shared memory"))};
}

} // namespace lab::promises
