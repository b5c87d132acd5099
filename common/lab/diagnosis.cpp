#include "diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>

namespace lab {
namespace {

// An input's sums by place: `residue[r]` of the elements i with i mod (2 * block) = r. Whatever a rung does,
// a thread meets elements of the same place in each part of the array, so what a thread, a warp or a step of
// the tree loses is a set of places.
struct Places {
  std::vector<double> residue;
  double total = 0;

  Places(const Sequence& input, unsigned block) : residue(2 * std::size_t{block}) {
    for (std::size_t i = 0; i < input.n; ++i) residue[i % residue.size()] += input[i];
    for (const double sum : residue) total += sum;
  }
  double where(const std::function<bool(unsigned)>& kept) const {
    double sum = 0;
    for (unsigned r = 0; r < residue.size(); ++r) {
      if (kept(r)) sum += residue[r];
    }
    return sum;
  }
};

struct View {
  const Observation& observation;
  Places places;

  // The sum in which element i counts weight(i) times.
  template <class Weight>
  double weighed(Weight weight) const {
    const Sequence& input = *observation.input;
    double sum = 0;
    for (std::size_t i = 0; i < input.n; ++i) {
      if (const double times = weight(i); times != 0) sum += times * input[i];
    }
    return sum;
  }
};

// A mistake: its prediction for an observation. The text is made only where the prediction fits.
struct Hypothesis {
  std::string kind;
  std::function<double(const View&)> predict;
  std::function<std::string()> text;
  bool specific = true;
};

// All hypotheses for one symptom.
class Hypotheses {
public:
  explicit Hypotheses(const Symptom& symptom)
      : symptom_(symptom), n_(symptom.given.n), block_(symptom.given.block) {
    add_whole();
    add_prefixes();
    add_threads();
    add_steps();
    add_walks();
    add_widths();
    add_identity();
    add(
        "nothing-added", [](const View&) { return 0.0; },
        [] { return std::string("The result is 0, as if no element had been added."); }, false);
  }
  const std::vector<Hypothesis>& all() const { return all_; }

private:
  void add(std::string kind, std::function<double(const View&)> predict, std::function<std::string()> text,
           bool specific = true) {
    all_.push_back({std::move(kind), std::move(predict), std::move(text), specific});
  }

  double left_over() const { return poison(symptom_.observations[0].input->type, Kind::exact); }

  // The result as a whole: what stood there before, or a multiple of what is right.
  void add_whole() {
    add(
        "never-written", [this](const View&) { return left_over(); },
        [this] {
          return fmt::format(
              "The result is {:.0f}, which the check put there before the launch: nothing was written to it.",
              left_over());
        });
    add(
        "added-to-old", [this](const View& v) { return v.observation.expected + left_over(); },
        [this] {
          return fmt::format("The result is the right one plus {:.0f}, which stood there before the launch: "
                             "it was added to, "
                             "but not set to 0 first.",
                             left_over());
        });
    add(
        "twice", [](const View& v) { return 2 * v.observation.expected; },
        [] {
          return std::string("The result is exactly twice the right one: every element was added twice.");
        });
    const std::pair<unsigned, const char*> crowds[] = {
        {32, "every lane of a warp added what one lane should"},
        {block_ / 32, "every warp of a block added what one warp should"},
        {block_, "every thread of a block added what one thread should"}};
    for (const auto& [crowd, what] : crowds) {
      if (crowd < 2) continue;
      add(
          "many-times", [crowd = crowd](const View& v) { return crowd * v.observation.expected; },
          [crowd = crowd, what = what] {
            return fmt::format("The result is exactly {} times the right one: {}.", crowd, what);
          });
    }
  }

  void add_prefix(const char* kind, std::size_t count, std::function<std::string()> text) {
    if (count == 0 || count >= n_) return;
    add(
        kind, [count](const View& v) { return reduce(*v.observation.input, 0, count).value; },
        std::move(text));
  }

  // A whole number of parts, or the first part alone.
  void add_prefixes() {
    const std::size_t grid = std::size_t{symptom_.resident_blocks} * block_;
    for (const std::size_t part :
         {std::size_t{block_}, 2 * std::size_t{block_}, 4 * std::size_t{block_}, 8 * std::size_t{block_},
          16 * std::size_t{block_}, grid, 2 * grid, 4 * grid, std::size_t{32}, std::size_t{4}}) {
      const std::size_t count = n_ / part * part;
      if (n_ / part < 2) continue; // else it is one part alone, below
      add_prefix("lost-tail", count, [this, count, part] {
        return fmt::format(
            "The result is the sum of the first {} elements ({} times {}): the last {}, which do not fill "
            "a whole {}, are missing.",
            count, count / part, part, n_ - count, part);
      });
    }
    add_prefix("lost-tail", n_ - std::min<std::size_t>(n_, 1),
               [] { return std::string("The result is right but for the last element, which is missing."); });
    for (const unsigned each : {1u, 2u, 4u, 8u, 16u}) {
      const std::size_t count = std::size_t{each} * block_;
      add_prefix("only-block-0", count, [this, each, count] {
        return fmt::format(
            "The result is the sum of the first {} elements, {} a thread for {} threads: only block 0's "
            "part reached it.",
            count, each, block_);
      });
    }
    for (const unsigned each : {1u, 2u, 4u}) {
      const std::size_t part = std::size_t{each} * block_, blocks = ceil_div(n_, part);
      if (blocks < 2) continue;
      add(
          "same-part",
          [part, blocks](const View& v) {
            return static_cast<double>(blocks) * reduce(*v.observation.input, 0, part).value;
          },
          [part, blocks] {
            return fmt::format(
                "The result is {} times the sum of the first {} elements: each of the {} blocks added the "
                "same part; the block's own number is missing in the index.",
                blocks, part, blocks);
          });
    }
    for (std::size_t blocks = 2; blocks <= 8192; blocks *= 2) add_first_pass(blocks * block_);
    add_first_pass(std::size_t{symptom_.resident_blocks} * block_);
    add_prefix("index-overflow", n_ & 0xffffffff, [this] {
      return fmt::format(
          "The result is the sum of the first {} elements, which is {} modulo 2^32: an index or count of "
          "32 bits overflowed.",
          n_ & 0xffffffff, n_);
    });
  }

  // A grid-stride loop that ends after its first round.
  void add_first_pass(std::size_t threads) {
    add_prefix("only-first-pass", threads, [this, threads] {
      return fmt::format(
          "The result is the sum of the first {} elements, one for each thread of a grid of {} blocks: each "
          "thread added one element and did not walk on.",
          threads, threads / block_);
    });
  }

  // What some of the threads of each block brought along.
  void add_threads() {
    const unsigned block = block_;
    const auto keep = [this](const char* kind, auto kept, std::string text) {
      add(
          kind, [kept](const View& v) { return v.places.where(kept); },
          [text = std::move(text)] { return text; });
    };
    if (block > 32) {
      keep(
          "last-warp-lost", [block](unsigned r) { return r % block < block - 32; },
          "The result lacks exactly what the last warp of each block brought along.");
      keep(
          "only-first-warp", [block](unsigned r) { return r % block < 32; },
          "The result is exactly what the first warp of each block brought along: the other warps' sums are "
          "missing.");
      if (block > 64) {
        keep(
            "stale-second-stage", [block](unsigned r) { return r % block < 64; },
            "The result is exactly what the first two warps of each block brought along: where warps' sums "
            "are "
            "added up, every step starts anew from what lies in shared memory, so only the last step "
            "counts.");
      }
      keep(
          "only-first-lanes", [block](unsigned r) { return r % block % 32 == 0; },
          "The result is exactly what lane 0 of each warp brought along: the lanes of a warp were not added "
          "up.");
    }
    for (unsigned thread = 0; thread < block && n_ >= 2 * std::size_t{block}; ++thread) {
      keep(
          "lost-thread", [block, thread](unsigned r) { return r % block != thread; },
          fmt::format("The result lacks exactly what thread {} of each block brought along.", thread));
    }
    for (const unsigned lane : {0u, 31u}) {
      add(
          "wrong-lane",
          [block, lane](const View& v) {
            return 32 * v.places.where([=](unsigned r) { return r % block % 32 == lane; });
          },
          [lane] {
            return fmt::format("The result is exactly 32 times what lane {} of each warp brought along: this "
                               "lane has no partner in "
                               "any step and adds its own value each time. The warp's sum is in lane {}.",
                               lane, 31 - lane);
          });
    }
    keep(
        "only-last-thread", [block](unsigned r) { return r % block == block - 1; },
        "The result is exactly what the last thread of each block brought along: each step hands its value "
        "on "
        "in place of a sum.");
    if (block > 64) {
      keep(
          "stale-second-stage",
          [block](unsigned r) {
            const unsigned warp = r % block / 32;
            return (warp & (warp - 1)) == 0;
          },
          "The result is exactly what the warps 0, 1, 2, 4, 8 and 16 of each block brought along: where "
          "warps' sums "
          "are added up, every step takes a warp's own sum once more, not the sum so far.");
    }
    keep(
        "only-first-threads", [block](unsigned r) { return r % block == 0; },
        "The result is exactly what thread 0 of each block brought along: the threads of a block were not "
        "added up.");
  }

  // A tree that leaves out the step with stride s loses the places with bit s.
  void add_steps() {
    const unsigned block = block_;
    for (unsigned stride = block; stride > 0; stride /= 2) {
      add(
          "lost-step",
          [stride](const View& v) { return v.places.where([=](unsigned r) { return (r & stride) == 0; }); },
          [stride, block] {
            if (stride == block) {
              return fmt::format(
                  "The result lacks exactly the second half of every {} elements: each thread's second "
                  "element, or the step with stride {}, is missing.",
                  2 * block, block);
            }
            return fmt::format(
                "The result lacks exactly what the step with stride {} adds: that step is missing.", stride);
          });
    }
    for (unsigned stride = 2; stride < block; stride *= 2) {
      add(
          "lost-step",
          [stride](const View& v) {
            return v.places.where([=](unsigned r) { return (r & (2 * stride - 1)) == 0; });
          },
          [stride] {
            return fmt::format(
                "The result lacks exactly what the steps with strides {} to 1 add: the tree stops too "
                "early.",
                stride);
          });
    }
  }

  // Threads that walk over the array at the wrong stride, or start in the wrong place.
  void add_walks() {
    const std::size_t blocks = symptom_.resident_blocks, grid = blocks * block_, block = block_;
    if (n_ > 2 * block) {
      add(
          "overlap",
          [=](const View& v) { return v.weighed([=](std::size_t i) { return i < block ? 1.0 : 2.0; }); },
          [block] {
            return fmt::format(
                "The result is right but that all elements from {} on were added twice: each block takes two "
                "elements a thread, but starts only {} after the block before it.",
                block, block);
          });
      add(
          "wrong-stride",
          [=](const View& v) {
            return v.weighed(
                [=](std::size_t i) { return static_cast<double>(std::min(i / block + 1, blocks)); });
          },
          [block] {
            return fmt::format("The result is what comes out where each block starts at its own {} elements "
                               "and walks on at a stride "
                               "of {}, its own size: the stride must be that of the whole grid.",
                               block, block);
          });
      const std::size_t needed = ceil_div(n_, block);
      add(
          "wrong-index",
          [=](const View& v) {
            return v.weighed([=](std::size_t i) {
              const std::size_t last = std::min(i / needed, needed - 1);
              const std::size_t first = i < block ? 0 : (i - block) / needed + 1;
              return last < first ? 0.0 : static_cast<double>(last - first + 1);
            });
          },
          [=] {
            return fmt::format("The result is what comes out where a block's first element is its number "
                               "times {}, the blocks of the "
                               "grid, and not times {}, the threads of a block.",
                               needed, block);
          });
    }
    for (const std::size_t each : {2, 4}) {
      if (n_ <= grid) continue;
      add(
          "wrong-stride",
          [=](const View& v) {
            return v.weighed([=](std::size_t i) { return i / grid % each == 0 ? 1.0 : 0.0; });
          },
          [=] {
            return fmt::format("The result is the sum of every {}nd part of {} elements, one for each thread "
                               "of a grid that fits the "
                               "device: the stride is {} times as long as the grid.",
                               each, grid, each);
          });
    }
    for (const std::size_t part : {2 * block, 4 * block, 8 * block}) {
      if (n_ <= part) continue;
      add(
          "lost-part",
          [=](const View& v) {
            return v.weighed([=](std::size_t i) { return i / part % 2 == 0 ? 1.0 : 0.0; });
          },
          [part] {
            return fmt::format("The result lacks exactly the second half of every {} elements: each block "
                               "takes half of its part only.",
                               2 * part);
          });
    }
    for (std::size_t lost = 0; lost < blocks && n_ > grid; lost += std::max<std::size_t>(blocks - 1, 1)) {
      add(
          "lost-block",
          [=](const View& v) {
            return v.weighed([=](std::size_t i) { return i / block % blocks == lost ? 0.0 : 1.0; });
          },
          [=] {
            return fmt::format(
                "The result lacks exactly what block {} of the {} that the device holds brought along.", lost,
                blocks);
          });
    }
  }

  // Loads of several elements, and numbers with too few bits.
  void add_widths() {
    for (const unsigned lost : {0u, 1u, 2u, 3u}) {
      if (n_ < 8) break;
      add(
          "lost-component",
          [this, lost](const View& v) {
            return v.weighed(
                [=, whole = n_ / 4 * 4](std::size_t i) { return i < whole && i % 4 == lost ? 0.0 : 1.0; });
          },
          [lost] {
            return fmt::format("The result lacks exactly element {} of each four that are loaded together.",
                               lost);
          });
    }
    add_prefix("index-overflow", n_ & 0xffff, [this] {
      return fmt::format("The result is the sum of the first {} elements, which is {} modulo 2^16: an index "
                         "or count of 16 bits "
                         "overflowed.",
                         n_ & 0xffff, n_);
    });
  }

  // Threads beyond the end that bring 1 along, and other constants that go with a number of threads.
  void add_identity() {
    const double n = static_cast<double>(n_);
    for (const unsigned each : {1u, 2u, 4u}) {
      const std::size_t part = std::size_t{each} * block_;
      const double beyond = static_cast<double>(ceil_div(n_, part) * part) - n;
      if (beyond <= 0) continue;
      add(
          "wrong-identity", [beyond](const View& v) { return v.observation.expected + beyond; },
          [beyond] {
            return fmt::format("The result is too large by {0:.0f}, and {0:.0f} threads have no element: "
                               "each of them brought 1 "
                               "along, where a sum needs 0.",
                               beyond);
          });
    }
  }

  const Symptom& symptom_;
  std::size_t n_;
  unsigned block_;
  std::vector<Hypothesis> all_;
};

// The block whose part alone is the result, if there is one: blocks overwrite each other.
std::optional<std::size_t> block_alone(const Observation& observation, std::size_t part) {
  const std::size_t n = observation.input->n;
  if (n <= part || n / part > 10000) return std::nullopt;
  for (std::size_t first = 0; first < n; first += part) {
    if (reduce(*observation.input, first, first + part).value == observation.got) return first / part;
  }
  return std::nullopt;
}

Diagnosis one_block_alone(const Symptom& symptom) {
  for (const unsigned each : {1u, 2u, 4u}) {
    std::string blocks;
    for (const Observation& observation : symptom.observations) {
      const auto found = block_alone(observation, std::size_t{each} * symptom.given.block);
      if (!found) break;
      if (&observation == &symptom.observations.back()) {
        return {
            "overwritten",
            fmt::format(
                "The result is exactly block {}'s sum: the blocks overwrite each other's result instead of "
                "adding to it.",
                *found),
            true};
      }
    }
  }
  return {};
}

// The one element that is missing or was added once more than it should.
Diagnosis one_element(const Symptom& symptom) {
  const Sequence& first = *symptom.observations[0].input;
  if (first.n < 2 || first.n > 4096) return {};
  for (std::size_t i = 0; i < first.n; ++i) {
    for (const double sign : {-1.0, 1.0}) {
      const bool fits =
          std::all_of(symptom.observations.begin(), symptom.observations.end(),
                      [&](const Observation& o) { return o.got == o.expected + sign * (*o.input)[i]; });
      if (!fits) continue;
      return {sign < 0 ? "missing-element" : "doubled-element",
              fmt::format("The result is right but for element {}, which {}.", i,
                          sign < 0 ? "is missing" : "was added twice"),
              true};
    }
  }
  return {};
}

// Products, minima and maxima: what a wrong start, or none, leaves behind.
Diagnosis from_identity(const Symptom& symptom) {
  const Sequence& input = *symptom.observations[0].input;
  const auto always = [&symptom](double value) {
    return std::all_of(symptom.observations.begin(), symptom.observations.end(),
                       [value](const Observation& o) { return o.got == value && o.expected != value; });
  };
  if (always(poison(input.type, Kind::exact))) {
    return {
        "never-written",
        fmt::format("The result is {:.0f}, which the check put there before the launch: nothing was written "
                    "to it, or it took part as if it were an element.",
                    poison(input.type, Kind::exact)),
        true};
  }
  const bool is_double = input.type == Type::float64;
  const double tiny = is_double ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  if (input.op == Operator::max && always(tiny)) {
    return {"wrong-identity",
            fmt::format("The result is {:.4g}, the smallest number above 0, which is what "
                        "numeric_limits<{}>::min() means: a max must start from the least value there is.",
                        tiny, name_of(input.type)),
            true};
  }
  const bool zero = std::all_of(symptom.observations.begin(), symptom.observations.end(),
                                [](const Observation& o) { return o.got == 0 && o.expected != 0; });
  if (!zero) return {};
  if (input.op == Operator::product) {
    return {"wrong-identity", "The result is 0, but no factor is: a product must start from 1.", true};
  }
  return {"wrong-identity",
          fmt::format(
              "The result is 0, but every element is {} 0: a {} must start from the {} value that there is.",
              input.op == Operator::max ? "below" : "above", name_of(input.op),
              input.op == Operator::max ? "least" : "greatest"),
          true};
}

Diagnosis from_limits(const Symptom& symptom) {
  const Observation& seen = symptom.observations[0];
  const Type type = seen.input->type;
  if (std::isnan(seen.got)) {
    return {"not-a-number",
            "The result is not a number: the check fills memory that nothing has written yet with NaN, so "
            "some of it was "
            "used.",
            true};
  }
  if ((type == Type::int32 || type == Type::uint32) && seen.got != seen.expected &&
      std::remainder(seen.got - seen.expected, 0x1p32) == 0) {
    return {"integer-overflow",
            "The result differs from the right one by a multiple of 2^32: a sum overflowed.", true};
  }
  if (type == Type::float32 && seen.got == 0x1p24 && seen.expected > 0x1p24) {
    return {"float-saturation",
            "The result stopped at 16777216 = 2^24: from there on a float cannot count by ones any more, and "
            "adding 1 "
            "changes nothing.",
            true};
  }
  return {};
}

Diagnosis from_runs(const Symptom& symptom) {
  std::vector<double> all{symptom.observations[0].got};
  all.insert(all.end(), symptom.again.begin(), symptom.again.end());
  const auto other = std::find_if(all.begin(), all.end(), [&](double value) { return value != all[0]; });
  if (other == all.end() || std::isnan(all[0])) return {};
  // Where additions round, their order shows in the last bits of any sum and is no mistake.
  const auto exact = [](double value) { return std::abs(value) <= 0x1p24; };
  if (symptom.given.kind != Kind::exact || !std::all_of(all.begin(), all.end(), exact)) return {};
  return {
      "different-each-run",
      fmt::format(
          "The same input gave {:.10g}, and then {:.10g}: what the threads do depends on which of them comes "
          "first.",
          all[0], *other),
      true};
}

// A sum that was kept in 16 bits, on each of several inputs: less telling than any other mistake that fits.
Diagnosis from_short_sums(const Symptom& symptom) {
  const bool fits =
      symptom.observations.size() > 1 &&
      std::all_of(symptom.observations.begin(), symptom.observations.end(), [](const Observation& o) {
        return o.got != o.expected && std::remainder(o.got - o.expected, 0x1p16) == 0;
      });
  if (!fits) return {};
  return {"integer-overflow",
          "The result differs from the right one by a multiple of 2^16: a sum was kept in 16 bits and "
          "overflowed.",
          true};
}

} // namespace

Diagnosis diagnose(const Symptom& symptom) {
  if (Diagnosis found = from_runs(symptom); !found.kind.empty()) return found;
  if (Diagnosis found = from_limits(symptom); !found.kind.empty()) return found;
  if (symptom.given.kind != Kind::exact || symptom.given.rows != 1) return {};
  if (symptom.observations[0].input->op != Operator::add) return from_identity(symptom);
  std::vector<View> views;
  for (const Observation& observation : symptom.observations) {
    if (observation.input->n > (std::size_t{1} << 24)) return {}; // would take longer than the student waits
    views.push_back({observation, Places(*observation.input, symptom.given.block)});
  }
  const Hypotheses hypotheses(symptom);
  Diagnosis vague;
  for (const Hypothesis& hypothesis : hypotheses.all()) {
    const bool fits = std::all_of(views.begin(), views.end(), [&](const View& view) {
      const double predicted = hypothesis.predict(view);
      // That nothing is left says little: any mistake that loses these few elements gives 0.
      const bool tells = predicted != 0 || !hypothesis.specific;
      return tells && predicted == view.observation.got && predicted != view.observation.expected;
    });
    if (fits && hypothesis.specific) return {hypothesis.kind, hypothesis.text(), true};
    if (fits && vague.kind.empty()) vague = {hypothesis.kind, hypothesis.text(), false};
  }
  if (Diagnosis found = one_block_alone(symptom); !found.kind.empty()) return found;
  if (Diagnosis found = one_element(symptom); !found.kind.empty()) return found;
  if (Diagnosis found = from_short_sums(symptom); !found.kind.empty()) return found;
  return vague;
}

const Check* most_telling(std::span<const Check> checks) {
  const auto votes = [checks](const Check& check) {
    return std::count_if(checks.begin(), checks.end(),
                         [&](const Check& other) { return other.diagnosis.kind == check.diagnosis.kind; });
  };
  const auto rank = [votes](const Check& check) {
    const double size = std::abs(std::log((static_cast<double>(check.n) + 1) / 1001));
    return std::tuple(!check.diagnosis.specific, -votes(check), !check.usual, size);
  };
  const Check* best = nullptr;
  for (const Check& check : checks) {
    if (check.diagnosis.kind.empty()) continue;
    if (!best || rank(check) < rank(*best)) best = &check;
  }
  return best;
}

} // namespace lab
