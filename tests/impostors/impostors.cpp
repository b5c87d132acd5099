// The table of rungs and impostors. Each impostor runs once for each size that promises are counted on; then
// its counters are compared with the promises of every rung of its shape. None may keep them all.
//
//   impostors [--verbose] [LAB[/RUNG] ...]
//
// Prints for each rung how many impostors it refuses and by which promises, and every pair that passes. A
// pair may pass if right_all_the_same() gives the reason. Any other pair fails the test, and so do a solved
// rung that is refused as itself and a reason that is no longer needed.
#include "impostors.hpp"

#include "input/source_file.hpp"
#include "judge/technique.hpp"
#include "program/check_rung.hpp"
#include "program/command_line.hpp"
#include "run/device.hpp"
#include "run/emulator.hpp"
#include "run/in_this_process.hpp"
#include "run/memory.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <set>
#include <span>

#include <cuda_runtime_api.h>

namespace lab {

std::vector<Impostor>& impostors() {
  static std::vector<Impostor> all;
  return all;
}

namespace {

std::map<std::string, unsigned>& elements_per_thread() { // by rung, if its main() gives it
  static std::map<std::string, unsigned> all;
  return all;
}

constexpr unsigned block = 256;
constexpr std::uint64_t seed = 1;

// A fault destroys the device's context, whoever caused it; the next impostor must find an intact device.
void mend_the_device() {
  if (cudaDeviceSynchronize() == cudaSuccess) return;
  release_scratch();
  cudaDeviceReset();
}

struct Exempt {
  const char *rung, *impostor, *reason;
};
// Pairs of a rung and a solved rung that keeps its promises because it is a correct solution of it.
constexpr Exempt right_all_the_same[] = {
    {"missing_barrier", "divergent_barrier", "repaired, the two are the same kernel"},
    {"divergent_barrier", "missing_barrier", "repaired, the two are the same kernel"},
    {"missing_barrier", "grid_stride_tree", "repaired, it is that kernel"},
    {"divergent_barrier", "grid_stride_tree", "repaired, it is that kernel"},
    {"grid_stride_tree", "missing_barrier", "repaired, it is this kernel"},
    {"grid_stride_tree", "divergent_barrier", "repaired, it is this kernel"},
    {"sequential", "unwritten_shared", "repaired, it is this kernel"},
    {"unwritten_shared", "sequential", "repaired, it is that kernel"},
    {"one_block_shared", "many_pass", "for what one block covers it is one launch of this kernel"},
    {"sequential", "a contiguous piece per thread, a thread per element, atomics",
     "a piece of one element is that thread's element"},
    {"unwritten_shared", "a contiguous piece per thread, a thread per element, atomics",
     "a piece of one element is that thread's element"},
    {"unroll_last_warp", "unroll_all", "it unrolls the last warp, and the rest"},
    {"one_thread_folds", "thread 0 adds up the block, 256 blocks, atomics", "that is what the rung asks for"},
    {"add", "across_blocks", "repaired, it is this kernel"},
    {"across_blocks", "add", "repaired, it is that kernel"},
    {"index_overflow", "lost_tail",
     "the rung asks for one product that does not overflow; all else is given"},
    {"grid_stride_shuffle", "stale_reads", "repaired, it is this kernel"},
    {"stale_reads", "grid_stride_shuffle", "repaired, it is that kernel"},
};

const char* reason_for(const Rung& rung, const Impostor& impostor) {
  for (const Exempt& each : right_all_the_same) {
    if (each.rung == std::string_view(rung.name) && each.impostor == impostor.name) return each.reason;
  }
  return nullptr;
}

// Whether the rung's checks expose the impostor: by its results on other inputs, or by a hazard.
bool is_found_out(Rung rung, const Impostor& impostor) {
  rung.on(impostor.variant);
  Options options;
  options.seed = seed;
  Progress progress;
  Checked checked;
  const Recorded recorded = record([&] { checked = check_rung(rung, options, progress); });
  mend_the_device();
  const auto failed = [](const Check& check) { return !check.ok; };
  return std::any_of(checked.checks.begin(), checked.checks.end(), failed) || !recorded.hazards.empty();
}

// Runs impostors, each once on the same input.
class Runs {
public:
  struct Run {
    Profile profile;
    bool right = false;
  };

  const Run& of(const Impostor& impostor, const Rung& rung, const Shape& shape) {
    const unsigned block = block_of(rung, shape);
    const std::size_t n = std::min(shape.n, rung.most_elements(block));
    const auto [place, is_new] =
        runs_.try_emplace({&impostor, shape.n, n, shape.rows, block, rung.op, rung.row_function});
    if (!is_new) return place->second;
    try {
      place->second = run(impostor, rung, shape);
    } catch (const DeviceError&) { // it takes fewer elements than the rung does, and has no memory for more
      place->second = {};
    }
    mend_the_device();
    return place->second;
  }

private:
  static Run run(const Impostor& impostor, const Rung& rung, const Shape& shape) {
    Check result;
    const unsigned block = block_of(rung, shape);
    const Recorded counted = profile_rung(rung, impostor.variant, shape.n, block, seed, shape.rows, &result);
    return {counted.profile, result.ok};
  }

  static unsigned block_of(const Rung& rung, const Shape& shape) {
    return shape.block ? std::clamp(shape.block, rung.min_block, rung.max_block) : block;
  }

  std::map<
      std::tuple<const Impostor*, std::size_t, std::size_t, std::size_t, unsigned, Operator, RowFunction>,
      Run>
      runs_;
};

// Whether an impostor could take the rung's place: its host function has the same parameters.
bool fits(const Impostor& impostor, const Variant& own) {
  return impostor.variant.by_rows == own.by_rows && impostor.variant.maps_rows == own.maps_rows &&
         impostor.variant.type == own.type && impostor.variant.result_type == own.result_type &&
         (own.in_place || !impostor.variant.in_place);
}

struct Row {
  int refused = 0, wrong = 0;
  std::map<std::string, int> by; // the promise broken first
  std::vector<std::string> passed, faults;
};

class Table {
public:
  // `wanted`: prefixes of the names of the rungs to test; all if there are none.
  void fill(std::span<char*> wanted) {
    for (const Impostor& own : impostors()) {
      const std::string name = own.lab + "/" + own.name;
      const auto is_wanted = [&](const char* begin) { return name.starts_with(begin); };
      if (own.lab.empty() || (!wanted.empty() && std::none_of(wanted.begin(), wanted.end(), is_wanted)))
        continue;
      rows_.emplace_back(name, row_of(own));
    }
    if (!wanted.empty()) return;
    for (const Exempt& each : right_all_the_same) {
      if (!used_.contains({each.rung, each.impostor}))
        faults_.push_back(
            fmt::format("{} handed in for {}: is refused, so no reason is needed", each.impostor, each.rung));
    }
  }
  int print(bool verbose) const {
    int pairs = 0, refused = 0, faults = int(faults_.size());
    for (const auto& [name, row] : rows_) {
      fmt::print("{:<42} {:3} refused, {} with a wrong result\n", name, row.refused, row.wrong);
      if (verbose) {
        for (const auto& [promise, times] : row.by) fmt::print("{:>46} by {}\n", times, promise);
      }
      for (const std::string& text : row.passed) fmt::print("    right all the same: {}\n", text);
      for (const std::string& text : row.faults) fmt::print("    FAULT {}\n", text);
      pairs += row.refused + int(row.passed.size() + row.faults.size());
      refused += row.refused, faults += int(row.faults.size());
    }
    for (const std::string& text : faults_) fmt::print("FAULT {}\n", text);
    fmt::print("{} rungs, {} pairs of a rung and an impostor: {} refused, {} faults.\n", rows_.size(), pairs,
               refused, faults);
    return faults == 0 && !rows_.empty() ? 0 : 1;
  }

private:
  Row row_of(const Impostor& own) {
    Rung rung = promised(own.lab.c_str(), own.name.c_str());
    rung.elements_per_thread = elements_per_thread()[own.name];
    Row row;
    for (const Impostor& impostor : impostors()) {
      const bool itself = &impostor == &own;
      if (!fits(impostor, own.variant)) continue;
      const std::string broken = first_broken(rung, impostor, row);
      if (itself && !broken.empty()) row.faults.push_back("the solution is refused: " + broken);
      if (itself || !broken.empty()) continue;
      const char* reason = reason_for(rung, impostor);
      used_.insert({rung.name, impostor.name});
      (reason ? row.passed : row.faults)
          .push_back(fmt::format("{}{}", impostor.name,
                                 reason ? fmt::format(" ({})", reason) : " keeps all promises"));
    }
    return row;
  }

  // "" if none is broken and the results are right.
  std::string first_broken(const Rung& rung, const Impostor& impostor, Row& row) {
    for (const Shape& shape : counted_shapes(impostor.variant, seed)) {
      const Runs::Run& run = runs_.of(impostor, rung, shape);
      if (run.profile.block == 0) return ++row.refused, ++row.wrong, "it does not run";
      for (const Check& check : hold_promises(rung, run.profile, impostor.variant)) {
        if (check.ok) continue;
        ++row.refused, ++row.by[check.name.substr(0, check.name.find(','))];
        return check.message;
      }
      if (!run.right) return ++row.refused, ++row.wrong, "a wrong result";
    }
    if (is_found_out(rung, impostor)) return ++row.refused, ++row.wrong, "a wrong result";
    return "";
  }

  Runs runs_;
  std::vector<std::pair<std::string, Row>> rows_;
  std::set<std::pair<std::string, std::string>> used_;
  std::vector<std::string> faults_;
};

} // namespace

int take_down(int, char**, std::initializer_list<Implementation> rungs, const char* source) {
  const std::string lab = lab_of(source);
  for (const Implementation& each : rungs) {
    impostors().push_back({lab, each.rung, each.variants[0]});
    elements_per_thread()[each.rung] = each.per_thread;
  }
  return 0;
}

} // namespace lab

int main(int argc, char** argv) {
  lab::open_device(lab::Choice::emulator, argv);
  lab::check_all_hazards();
  lab::Table table;
  const bool verbose = argc > 1 && std::strcmp(argv[1], "--verbose") == 0;
  table.fill(std::span(argv, std::size_t(argc)).subspan(verbose ? 2 : 1));
  return table.print(verbose);
}
