#include "promises/course.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

namespace lab {
namespace {

std::vector<Rung> promises_of(std::string_view lab) {
  for (const PromisesOfLab& each : course()) {
    if (each.lab == lab) return each.rungs();
  }
  std::string labs;
  for (const PromisesOfLab& each : course()) labs += fmt::format("\n  {}", each.lab);
  throw std::invalid_argument(
      fmt::format("'{}' is no lab of this course, going by the folder that the source is in. The labs are:{}",
                  lab, labs));
}

const Rung* find(const std::vector<Rung>& rungs, std::string_view name) {
  const auto found =
      std::find_if(rungs.begin(), rungs.end(), [name](const Rung& rung) { return rung.name == name; });
  return found == rungs.end() ? nullptr : &*found;
}

std::invalid_argument no_entry(std::string_view lab, std::string_view rung) {
  return std::invalid_argument(
      fmt::format("common/lab/promises/{}.cpp says nothing of a rung '{}'", lab, rung));
}

} // namespace

std::vector<Rung> with_promises(std::string_view lab, std::span<const Implementation> named) {
  const std::vector<Rung> promised = promises_of(lab);
  std::vector<Rung> rungs;
  for (const Implementation& implementation : named) {
    const Rung* entry = find(promised, implementation.rung);
    if (!entry) {
      throw std::invalid_argument(
          fmt::format("{}, which main() of lab {} names", no_entry(lab, implementation.rung).what(), lab));
    }
    Rung& rung = rungs.emplace_back(*entry);
    rung.elements_per_thread = implementation.per_thread;
    for (Variant variant : implementation.variants) {
      variant.in_place |= rung.overwrites_input;
      if (variant.function) rung.on(variant);
    }
  }
  for (const Rung& entry : promised) {
    if (find(rungs, entry.name)) continue;
    throw std::invalid_argument(fmt::format(
        "main() of lab {} does not name the rung '{}', of which common/lab/promises/{}.cpp says what it "
        "promises",
        lab, entry.name, lab));
  }
  return rungs;
}

Rung promised(const char* lab, const char* rung) {
  const std::vector<Rung> rungs = promises_of(lab);
  if (const Rung* found = find(rungs, rung)) return *found;
  throw no_entry(lab, rung);
}

Promise promised(const char* lab, const char* rung, Counter counter) {
  const Rung found = promised(lab, rung);
  for (int i = 0; i < found.promise_count; ++i) {
    if (found.promises[i].counter == counter) return found.promises[i];
  }
  throw std::invalid_argument(fmt::format("rung {} of {} promises nothing of that counter", rung, lab));
}

Promise promised(const char* lab, const char* rung, Counter counter, Promise::Relation relation) {
  const Rung found = promised(lab, rung);
  for (int i = 0; i < found.promise_count; ++i) {
    const Promise& promise = found.promises[i];
    if (promise.counter == counter && promise.relation == relation) return promise;
  }
  throw std::invalid_argument(
      fmt::format("rung {} of {} promises nothing of that relation on that counter", rung, lab));
}

} // namespace lab
