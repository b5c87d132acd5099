#include "run/many_gpus/ranks.hpp"

#include "run/cuda_errors.hpp"
#include "run/device.hpp"
#include "run/in_this_process.hpp"
#include "run/many_gpus/last_words.hpp"
#include "run/many_gpus/shared_out.hpp"
#include "run/watchdog.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

namespace lab {
namespace {

Processes joined; // the functions are null until then
int own_rank = 0, rank_count = 1;
bool answers_are_due = false; // on rank 0: the others have been asked to run
constexpr int exit_lost = 70; // no verdict: neither a failed rung nor one to do

enum class What { run, run_counted, run_together, report, end };

// What rank 0 tells the others; the input's values follow.
struct Order {
  What what{};
  Case given{};
  Type type{};
  Operator op{};
  Kind kind{};
  std::size_t n = 0, period = 0, bytes = 0;
  std::uint64_t seed = 0;
};

void send(void* bytes, std::size_t count, int from) {
  constexpr std::size_t most = std::size_t{1} << 30;
  for (std::size_t at = 0; at < count; at += most)
    joined.broadcast(static_cast<char*>(bytes) + at, static_cast<int>(std::min(most, count - at)), from);
}

void order(Order what) {
  send(&what, sizeof what, 0);
}

// The text of rank `from`, on all ranks.
std::string text_of(int from, std::string mine = "") {
  std::size_t length = mine.size();
  send(&length, sizeof length, from);
  mine.resize(length);
  send(mine.data(), length, from);
  return mine;
}

void answer(const std::string& mine) {
  for (int each = 1; each < rank_count; ++each) text_of(each, each == own_rank ? mine : "");
}

} // namespace

bool started_as_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (std::getenv(name)) return true;
  return false;
}

int local_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (const char* text = std::getenv(name); text && started_as_rank()) return std::atoi(text);
  return 0;
}

unsigned local_ranks() {
  // Slurm's is a list such as 4(x2): nodes that are alike.
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE"})
    if (const char* text = std::getenv(name); text && started_as_rank())
      return static_cast<unsigned>(std::atoi(text));
  return 0;
}

std::optional<std::vector<std::string>> launcher(unsigned count) {
  const char* path = std::getenv("PATH");
  const std::string folders = path ? path : "";
  for (std::size_t at = 0; at <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', at), folders.size());
    if (access((folders.substr(at, end - at) + "/mpirun").c_str(), X_OK) == 0)
      return std::vector<std::string>{"mpirun", "-n", std::to_string(count)};
    at = end + 1;
  }
  return std::nullopt;
}

void allow_launcher() {
  // Open MPI 4 and 5; other implementations ignore these.
  for (const auto& [name, value] : {std::pair{"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                    std::pair{"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
                                    std::pair{"OMPI_MCA_hwloc_base_binding_policy", "none"},
                                    std::pair{"OMPI_MCA_orte_execute_quiet", "1"}})
    setenv(name, value, 0);
  if (!isatty(STDOUT_FILENO)) setenv("NO_COLOR", "1", 0); // mpirun gives its processes a terminal
  if (geteuid() != 0) return;
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
}

// The rung's host function must not end the program; rank 0 would wait for what it was to do.
void on_early_exit(int code, void*) {
  if (!joined.end || !is_watching_a_run()) return; // it was not the host function
  const std::string words = fmt::format("the rung's host function ended the program by exit({})", code);
  fmt::print(stderr, "rank {}: {}\n", own_rank, words);
  if (own_rank > 0) leave_last_words(words);
  std::fflush(nullptr);
  _exit(exit_lost);
}

int device_of_rank() {
  int count = 1;
  cudaGetDeviceCount(&count);
  return local_rank() % std::max(count, 1);
}

void limit_nccl(double seconds_per_run) {
  // It may wait three times as long as this; NVIDIA's NCCL ignores it.
  setenv("WARPFOLD_NCCL_TIMEOUT", fmt::format("{:.3g}", seconds_per_run / 5).c_str(), 0);
  // The verdict has what NCCL says; but of another rank's, it is seen on stderr.
  void* const keep_quiet = dlsym(RTLD_DEFAULT, "warpfold_nccl_keep_quiet");
  if (keep_quiet && !started_as_rank()) reinterpret_cast<void (*)()>(keep_quiet)();
}

void join_ranks(const Processes& processes, double seconds_per_run) {
  limit_nccl(seconds_per_run);
  joined = processes;
  joined.begin(&own_rank, &rank_count);
  const std::string place = text_of(0, own_rank == 0 ? make_place_for_words(rank_count) : "");
  if (own_rank > 0) find_place_for_words(place, rank_count);
  answer(""); // all have it
  settle_in_place_for_words(own_rank);
  on_exit(on_early_exit, nullptr);
}

int rank() {
  return own_rank;
}

unsigned ranks() {
  return static_cast<unsigned>(rank_count);
}

unsigned devices_for(const Variant& variant) {
  return variant.processes.begin ? ranks() : variant.over_devices ? device().count : 1;
}

namespace {

// The hazard says where in a kernel it was.
std::string with_hazard(const std::string& error) {
  if (!on_emulator()) return error;
  const std::vector<Hazard> hazards = recorded_so_far().hazards;
  if (hazards.empty()) return error;
  const Hazard& first = hazards.front();
  return fmt::format("{}\n  {}:{}: {}: {}", error, first.file, first.line, first.kind, first.message);
}

} // namespace

namespace {

void order_run(What what, const Case& given, const Sequence& input) {
  order({.what = what,
         .given = given,
         .type = input.type,
         .op = input.op,
         .kind = input.kind,
         .n = input.n,
         .period = input.period,
         .bytes = input.values.size(),
         .seed = input.seed});
  send(const_cast<std::byte*>(input.values.data()), input.values.size(), 0);
  answers_are_due = true;
}

} // namespace

// A rank's part of the input, and all that its runs need.
struct RunsTogether::Own {
  Own(const Sequence& input, unsigned block)
      : shared(input, ranks(), static_cast<unsigned>(own_rank), device_of_rank(), 0),
        in_use(shared.shards()[0].device), result("result", sizeof(float)) {
    arguments.shards = shared.shards().begin(), arguments.devices = ranks(), arguments.rank = own_rank;
    arguments.result = result.data(), arguments.n = input.n, arguments.block = block;
    if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess)
      throw DeviceError("before timing: " + explain(error));
  }
  ~Own() { release_scratch(); }
  Own(const Own&) = delete;
  Own& operator=(const Own&) = delete;

  void run(const Variant& variant) {
    ScratchRun keep_scratch(ScratchRun::Memory::kept);
    launch_and_wait(variant, arguments, shared.shards());
  }

  SharedOut shared;
  OnDevice in_use;
  DeviceBuffer result;
  Arguments arguments;
};

RunsTogether::RunsTogether(const Variant& variant, const Sequence& input, unsigned block)
    : variant_(variant) {
  Case given;
  given.n = input.n, given.block = block, given.devices = ranks();
  order_run(What::run_together, given, input);
  own_ = std::make_unique<Own>(input, block);
}

// The others wait to hear whether there is another run. After one that failed, nothing can be said to them,
// and they end with this process.
RunsTogether::~RunsTogether() {
  if (has_failed_) return;
  error_of_other_ranks(); // the time of the last run is known, whatever became of it
  bool again = false;
  send(&again, sizeof again, 0);
}

double RunsTogether::once() {
  using clock = std::chrono::steady_clock;
  has_failed_ = true; // unless it comes to its end
  const std::string error = error_of_other_ranks();
  answers_are_due = true;
  if (!error.empty()) throw DeviceError("while timing: " + error);
  bool again = true;
  send(&again, sizeof again, 0);
  const auto start = clock::now();
  own_->run(variant_);
  const auto end = clock::now();
  has_failed_ = false;
  return std::chrono::duration<double, std::micro>(end - start).count();
}

void RunsTogether::on_another_rank(const Variant& variant, const Sequence& input, unsigned block) {
  std::unique_ptr<Own> own;
  std::string error;
  const auto attempt = [&error](const auto& what) {
    try {
      what();
    } catch (const DeviceError& failed) {
      error = failed.what();
      leave_word_of_failure(error);
    }
  };
  attempt([&] { own = std::make_unique<Own>(input, block); });
  for (;;) {
    answer(error);
    bool again = false;
    send(&again, sizeof again, 0);
    if (!again) return;
    attempt([&] { own->run(variant); });
  }
}

void serve(const Variant& variant) {
  if (on_emulator()) record([] {}); // from here on
  for (;;) {
    Order order;
    send(&order, sizeof order, 0);
    if (order.what == What::end) {
      const auto end = joined.end;
      leave_place_for_words(), joined = {};
      return end();
    }
    if (order.what == What::report) {
      answer(on_emulator() ? recorded_so_far().profile.report : "");
      continue;
    }
    std::vector<std::byte> values(order.bytes);
    send(values.data(), order.bytes, 0);
    const Sequence input{order.type,   order.kind, order.op,         order.n,
                         order.period, order.seed, std::move(values)};
    if (order.what == What::run_together) {
      RunsTogether::on_another_rank(variant, input, order.given.block);
      continue;
    }
    std::string error;
    try {
      if (order.what == What::run_counted) {
        run_counted(variant, order.given, input);
      } else {
        const Outcome outcome = run_once(variant, order.given, input);
        for (const std::string& text : {outcome.error, outcome.input_change, outcome.damage})
          if (error.empty()) error = text;
      }
    } catch (const DeviceError& failed) {
      error = failed.what();
    }
    if (!error.empty()) leave_word_of_failure(error = with_hazard(error)); // rank 0 hears it either way
    answer(error);
  }
}

void dismiss_ranks() {
  if (!joined.end || own_rank != 0) return;
  if (answers_are_due) return; // a run failed half-way; when this process ends, mpirun ends the others
  leave_place_for_words();
  order({.what = What::end});
  const auto end = joined.end;
  joined = {}, rank_count = 1;
  end();
}

void run_on_other_ranks(const Case& given, const Sequence& input, bool counted) {
  if (rank_count == 1 || own_rank != 0) return;
  order_run(counted ? What::run_counted : What::run, given, input);
}

std::string error_of_other_ranks() {
  std::string first;
  if (!answers_are_due) return first;
  for (int each = 1; each < rank_count; ++each)
    if (const std::string text = text_of(each); first.empty() && !text.empty())
      first = fmt::format("rank {}: {}", each, text);
  answers_are_due = false;
  return first;
}

std::string joined_errors(const std::string& own, const std::string& of_another) {
  if (own.empty() || of_another.empty()) return own + of_another;
  if (of_another.find(own) != std::string::npos) return own; // with "rank 1: " before it
  return own + "\n  " + of_another;
}

std::vector<std::string> reports_of_other_ranks() {
  std::vector<std::string> reports;
  if (rank_count == 1 || own_rank != 0 || answers_are_due) return reports;
  order({.what = What::report});
  for (int each = 1; each < rank_count; ++each) reports.push_back(text_of(each));
  return reports;
}

} // namespace lab
