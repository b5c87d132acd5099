// A launch: worker threads take the blocks of a grid one after another. A block that has run for long without
// finishing steps aside, so that blocks that wait for one another (a grid-wide barrier, a look-back scan) all
// make progress.
#include "block.hpp"
#include "running.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <thread>

namespace warpfold::machine {

namespace {

constexpr std::uint64_t default_step_limit = 1ull << 32;

// In the static thread-local block, which always exists, because a signal handler must not allocate.
__attribute__((tls_model("initial-exec"))) constinit thread_local bool executing = false;

// Host threads that are kept between launches, because starting one costs more than a small launch.
class Pool {
public:
  // Runs `work` on the calling thread and on `helpers` others; returns when all are done. For one launch at a
  // time.
  void run(unsigned helpers, const std::function<void()>& work) {
    {
      std::lock_guard lock(mutex_);
      while (threads_.size() < helpers)
        threads_.emplace_back([this, number = threads_.size()] { serve(number); });
      work_ = &work;
      wanted_ = running_ = helpers;
      ++round_;
    }
    changed_.notify_all();
    carry_out(work);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return running_ == 0; });
  }

private:
  static void carry_out(const std::function<void()>& work) {
    executing = true;
    work();
    executing = false;
  }
  void serve(std::size_t number) {
    for (std::uint64_t seen = 0;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return round_ != seen; });
      seen = round_;
      if (number >= wanted_) continue;
      const std::function<void()>& work = *work_;
      lock.unlock();
      carry_out(work);
      lock.lock();
      if (--running_ == 0) changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
  const std::function<void()>* work_ = nullptr;
  std::size_t wanted_ = 0, running_ = 0;
  std::uint64_t round_ = 0;
};

// A pool for one launch: as many as there have been launches at the same time. They live as long as the
// process: their threads wait for work even while static destructors run.
class BorrowedPool {
public:
  BorrowedPool() {
    std::lock_guard lock(free().mutex);
    if (free().pools.empty()) {
      pool_ = new Pool;
    } else {
      pool_ = free().pools.back();
      free().pools.pop_back();
    }
  }
  ~BorrowedPool() {
    std::lock_guard lock(free().mutex);
    free().pools.push_back(pool_);
  }
  BorrowedPool(const BorrowedPool&) = delete;
  BorrowedPool& operator=(const BorrowedPool&) = delete;
  Pool* operator->() const { return pool_; }

private:
  struct Free {
    std::mutex mutex;
    std::vector<Pool*> pools;
  };
  static Free& free() {
    static Free* const only = new Free;
    return *only;
  }
  Pool* pool_;
};

// The number of unfinished blocks that one worker may hold at the same time.
std::size_t resident_limit(const Grid& grid) {
  std::uint64_t limit = grid.shape.cooperative
                            ? grid.block_count()
                            : std::uint64_t{Limits::multiprocessors} * Limits::blocks_per_multiprocessor;
  return static_cast<std::size_t>((limit + grid.workers - 1) / grid.workers);
}

void add(std::vector<OperationCounters>& sum, const std::vector<OperationCounters>& part) {
  for (std::size_t i = 0; i < part.size(); ++i) {
    sum[i].warps += part[i].warps;
    sum[i].threads += part[i].threads;
    sum[i].requests += part[i].requests;
    sum[i].sectors += part[i].sectors;
    sum[i].wavefronts += part[i].wavefronts;
    sum[i].ideal_wavefronts += part[i].ideal_wavefronts;
    sum[i].lanes += part[i].lanes;
    sum[i].bytes += part[i].bytes;
    sum[i].divergent += part[i].divergent;
    sum[i].peer_requests += part[i].peer_requests;
    sum[i].peer_sectors += part[i].peer_sectors;
    sum[i].dsmem_requests += part[i].dsmem_requests;
    sum[i].dsmem_bytes += part[i].dsmem_bytes;
    sum[i].first_threads += part[i].first_threads;
    sum[i].own_places += part[i].own_places;
  }
}

// While blocks run, basic blocks are counted only at their leaders; this copies the counts to their
// instructions.
void spread_heads(const Code& code, std::vector<OperationCounters>& counters) {
  for (std::size_t i = 0; i < counters.size(); ++i) {
    std::size_t leader = code.facts[i].leader;
    if (leader == i) continue;
    counters[i].warps = counters[leader].warps;
    counters[i].threads = counters[leader].threads;
  }
}

// Of this thread.
std::chrono::nanoseconds processor_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// How long this thread could run and was not let to: the second number in Linux's schedstat. 0 where there is
// none.
std::chrono::nanoseconds wait_for_processor() {
  std::ifstream file("/proc/thread-self/schedstat");
  std::int64_t had = 0, waited = 0;
  return std::chrono::nanoseconds(file >> had >> waited ? waited : 0);
}

} // namespace

Worker::Worker(Grid& shared)
    : grid(shared), counters(shared.code.operations.size()), ranges(shared.code.operations.size()),
      refusals(shared.code.operations.size()), in_clusters(shared.shape.cluster.count() > 1),
      begin_(processor_time()) {
  const Frame& frame = grid.code.frames.front();
  local_stride = (frame.local_bytes + (grid.code.has_calls ? grid.stack_bytes : 0) + 15) / 16 * 16;
}

std::uint64_t Worker::instructions() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < counters.size(); ++i) sum += counters[grid.code.facts[i].leader].warps;
  return sum;
}

std::unique_ptr<Block> Worker::spare_block() {
  if (spare.empty()) return std::make_unique<Block>(*this);
  std::unique_ptr<Block> block = std::move(spare.back());
  spare.pop_back();
  return block;
}

// A block that has not had a turn; null if there is none left. The blocks of a cluster are taken together.
std::unique_ptr<Block> Worker::take_block() {
  const std::uint64_t together = grid.shape.cluster.count();
  const std::uint64_t next = grid.next_block.fetch_add(together);
  if (next >= grid.blocks_to_run()) return nullptr;
  if (together > 1) return take_cluster(grid.schedule.at(next / together, grid.block_count() / together));
  std::unique_ptr<Block> block = spare_block();
  block->start(grid.schedule.block_at(next, grid.block_count()));
  grid.standstill.ends();
  return block;
}

// Starts the blocks of a cluster; the others come from `fresh`.
std::unique_ptr<Block> Worker::take_cluster(std::uint64_t number) {
  const Dim3 &blocks = grid.shape.grid, &shape = grid.shape.cluster;
  const std::uint64_t wide = blocks.x / shape.x, high = blocks.y / shape.y, size = shape.count();
  const std::uint64_t x = number % wide * shape.x, y = number / wide % high * shape.y,
                      z = number / wide / high * shape.z;
  std::vector<std::unique_ptr<Block>> taken;
  std::vector<Block*> members;
  for (std::uint64_t rank = 0; rank < size; ++rank)
    members.push_back(taken.emplace_back(spare_block()).get());
  members.front()->own_cluster.begin(members);
  for (std::uint64_t rank = 0; rank < size; ++rank) {
    const std::uint64_t at_x = x + rank % shape.x, at_y = y + rank / shape.x % shape.y,
                        at_z = z + rank / shape.x / shape.y;
    members[rank]->start((at_z * blocks.y + at_y) * blocks.x + at_x);
  }
  for (std::uint64_t turn = size; turn-- > 0;)
    fresh.push_back(std::move(taken[grid.schedule.at(turn, size, number)]));
  grid.standstill.ends();
  std::unique_ptr<Block> block = std::move(fresh.back());
  fresh.pop_back();
  return block;
}

// The shared memory of a block stays as long as its cluster has others that could reach it.
void Worker::keep(std::unique_ptr<Block> block) {
  if (!in_clusters) return spare.push_back(std::move(block));
  Cluster* const cluster = block->cluster;
  if (++cluster->ended < cluster->size()) return ended.push_back(std::move(block));
  spare.push_back(std::move(block));
  for (std::unique_ptr<Block>& each : ended)
    if (each->cluster == cluster) spare.push_back(std::move(each));
  std::erase(ended, nullptr);
}

void Worker::run() {
  const bool backwards = grid.schedule.order == Schedule::Order::backwards;
  std::size_t limit = resident_limit(grid), turn = 0, waited = 0; // turns in a row
  std::size_t idle = 0;                                           // likewise: turns that brought no block on
  while (!grid.stop) {
    std::unique_ptr<Block> block;
    std::size_t place = backwards ? resident.size() : turn;
    // A new block while there is room, otherwise the resident ones in turn. Blocks of a cluster that bring
    // one another on end first: each has shared memory of its own, which may be large.
    if (!fresh.empty()) {
      block = std::move(fresh.back());
      fresh.pop_back();
    } else if (resident.size() < limit && (!in_clusters || idle >= resident.size())) {
      block = take_block();
      idle = 0;
    }
    if (!block) {
      if (resident.empty()) return;
      turn %= resident.size();
      place = backwards ? resident.size() - 1 - turn : turn;
      block = std::move(resident[place]);
      resident.erase(resident.begin() + static_cast<std::ptrdiff_t>(place));
    }
    const Turn turned = run_turn(*block);
    idle = turned == Turn::done || turned == Turn::reached_cluster_barrier ? 0 : idle + 1;
    if (turned == Turn::waited) {
      stop_if_waits_in_vain(*block);
      // A GPU starts blocks in the order of their numbers, so one that waits for an earlier one waits for one
      // that has started. In another order, that one may be among those for which there is no room.
      if (++waited > limit && grid.schedule.order != Schedule::Order::forwards) limit *= 2, waited = 0;
    } else if (turned != Turn::waits_for_cluster && turned != Turn::reached_cluster_barrier) {
      grid.turns_waited = waited = 0;
    }
    if (turned != Turn::done) {
      block->stepped_aside = true;
      if (grid.memory.devices() > 1) grid.stood_at = block->stands_at();
      if (grid.stop) return;
      // With nothing else to do, it would only count its own polling while another worker makes progress.
      if (turned == Turn::waited && resident.empty() && grid.next_block >= grid.blocks_to_run())
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      resident.insert(resident.begin() + static_cast<std::ptrdiff_t>(place), std::move(block));
      ++turn;
      continue;
    }
    ++grid.blocks_done;
    grid.standstill.ends();
    keep(std::move(block));
    stop_if_too_many_blocks();
  }
}

Worker::Turn Worker::run_turn(Block& block) {
  constexpr unsigned rounds_between_counts = 1024, rounds_while_polling = 128, slices_a_turn = 8;
  // Counted only after a block has shown that it may run for long.
  std::uint64_t before = block.stepped_aside ? instructions() : 0;
  unsigned slices = 0;
  bool only_waits = true;
  block.looked = block.polled = false;
  for (unsigned round = 1;; ++round) {
    Block::Progress progress = block.run();
    only_waits &= block.only_waits;
    if (progress == Block::Progress::stuck) block.stop_stuck();
    if (progress == Block::Progress::done) return Turn::done;
    if (grid.stop) return Turn::over;
    if (progress == Block::Progress::waits_for_cluster) {
      block.waits_for_cluster = true;
      if (block.cluster->is_stuck()) block.cluster->stop_stuck();
      stop_if_out_of_time(block);
      stop_if_at_a_standstill(block);
      return round == 1 ? Turn::waits_for_cluster : Turn::reached_cluster_barrier;
    }
    // Waiting at a barrier is no reason to step aside, but a time slice that has run out is. Time slices do
    // not run out in a loop with barriers: there, it is having looked for long at what others may write.
    bool slice_over = false, spun = false;
    for (const Warp& warp : block.warps) {
      if (warp.done() || warp.slice != 0) continue;
      slice_over = true, spun |= warp.spins;
    }
    const bool gives_way =
        block.polled ? round % rounds_while_polling == 0 : block.looked && round % rounds_between_counts == 0;
    if (!slice_over && !gives_way && round % rounds_between_counts != 0) continue;
    std::uint64_t now = instructions();
    if (before != 0) block.steps += now - before;
    before = now;
    if (block.steps > grid.step_limit) block.stop_endless();
    stop_if_out_of_time(block);
    stop_if_at_a_standstill(block);
    // A block that repeats itself may wait, with plain loads, for one that has not had its turn.
    if ((gives_way || block.recurrence.found) && !spun) return Turn::over;
    if (spun) return only_waits ? Turn::waited : Turn::over;
    if (slice_over && (++slices == slices_a_turn || grid.shape.cooperative)) return Turn::over;
  }
}

namespace {

// If a warp of the block waits at an mbarrier. `so_far` says for how long it has waited.
void stop_at_mbarrier(const Block& block, const std::string& so_far) {
  const auto at = std::ranges::find_if(block.warps, [](const Warp& warp) {
    return warp.waits_for_memory() && (warp.missing_arrivals || warp.missing_bytes);
  });
  if (at == block.warps.end()) return;
  if (at->missing_arrivals == 0 && at->expects) {
    const SourceLine line = block.worker.grid.code.line_of(*at->expects);
    block.stop_early(
        Fault::Kind::missing_bytes,
        fmt::format("waits at an mbarrier that expects {} bytes in this phase{}, {} {} have come, and {}",
                    at->expected_bytes, line.line ? fmt::format(" (line {})", line.line) : "",
                    at->missing_bytes > 0 ? "of which" : "but",
                    std::int64_t{at->expected_bytes} - at->missing_bytes, so_far));
  }
  // A thread that waits for the wrong parity waits for the phase after the one that it means. It goes on once
  // a phase of its parity is the last one completed, so what it waits for is the phase that is under way.
  const std::string over =
      at->phases_over
          ? fmt::format(" (it has completed {} phase{}, the last one of parity {})", at->phases_over,
                        at->phases_over == 1 ? "" : "s", (at->phases_over - 1) % 2)
          : "";
  const std::string bytes =
      at->missing_bytes > 0 ? fmt::format(" and {} bytes", at->missing_bytes)
      : at->missing_bytes < 0
          ? fmt::format(", while {} bytes have arrived that it did not expect", -at->missing_bytes)
          : "";
  block.stop_early(Fault::Kind::phase,
                   fmt::format("waits for a phase of parity {} at a barrier in shared memory that lacks {} "
                               "arrival{}{}{}, and {}",
                               at->phases_over % 2, at->missing_arrivals,
                               at->missing_arrivals == 1 ? "" : "s", bytes, over, so_far));
}

[[noreturn]] void stop_waiting(const Block& block) {
  const std::uint32_t ended = block.threads - block.alive; // which will arrive at no barrier
  const double seconds = std::chrono::duration<double>(block.worker.grid.patience).count();
  const std::string without =
      ended ? fmt::format("; {} of the block's {} threads have ended", ended, block.threads) : "";
  stop_at_mbarrier(
      block, fmt::format("for {:.3g} s no thread that runs has changed any memory{}", seconds, without));
  block.stop_early(
      Fault::Kind::waiting,
      fmt::format("waits for memory to change, but for {:.3g} s no thread that runs has changed any{}",
                  seconds, without));
}

} // namespace

// On a busy machine a launch gets only part of the processors' time. A worker that has had less than half of
// the limit may go on, up to three times as long, and as long as it has waited for a processor.
bool Worker::is_out_of_time() const {
  const auto now = std::chrono::steady_clock::now();
  if (now < grid.deadline) return false;
  const auto limit = grid.deadline - grid.begin;
  return processor_time() - begin_ >= limit / 2 || now - wait_for_processor() >= grid.deadline + 2 * limit;
}

void Worker::stop_if_out_of_time(const Block& block) const {
  using namespace std::chrono;
  if (grid.interrupt && *grid.interrupt)
    block.stop_early(Fault::Kind::interrupted, "was stopped before its end");
  if (!is_out_of_time()) return;
  const double seconds = duration<double>(steady_clock::now() - grid.begin).count(); // of the launch
  stop_at_mbarrier(block, fmt::format("the kernel has not come to an end after {:.3g} s", seconds));
  block.stop_early(block.polls() ? Fault::Kind::waiting : Fault::Kind::endless,
                   fmt::format("has not come to an end after {:.3g} s", seconds));
}

// A block that ends within its first turn is never found to be out of time.
void Worker::stop_if_too_many_blocks() const {
  using namespace std::chrono;
  const std::uint64_t done = grid.blocks_done, all = grid.blocks_to_run();
  if (done == all) return;
  const auto stop = [&](Fault::Kind kind, const std::string& why) {
    throw LaunchStopped(
        {.kind = kind, .message = fmt::format("{}: {} of its {} blocks have", why, done, all)});
  };
  if (grid.interrupt && *grid.interrupt)
    stop(Fault::Kind::interrupted, "the kernel was stopped before all of it had ended");
  if (!is_out_of_time()) return;
  const double seconds = duration<double>(steady_clock::now() - grid.begin).count();
  stop(Fault::Kind::too_slow, fmt::format("the kernel has not come to an end after {:.3g} s", seconds));
}

// Whatever can still change memory must be known: work in other streams of several devices is not.
void Worker::stop_if_at_a_standstill(Block& block) {
  const bool moves = block.changed || acted;
  block.changed = acted = false;
  if (grid.memory.devices() > 1) return;
  if (!grid.standstill.continues(grid, block, moves, compares_stores)) return;
  if (block.waits_for_cluster) return; // the block that it waits for is the one to name
  if (grid.may_be_changed && grid.may_be_changed()) return;
  const double seconds = std::chrono::duration<double>(grid.patience).count();
  block.stop_early(
      block.polls() ? Fault::Kind::waiting : Fault::Kind::endless,
      fmt::format("repeats the same steps for ever: for {:.3g} s no thread that runs has changed "
                  "any memory, and all of them have come back to where they were before, with "
                  "the same values",
                  seconds));
}

// For long, no block has done anything but wait for a value in memory: for a barrier of the whole grid that
// some blocks never reach, for what a kernel that was stopped would have written, or for what no thread
// writes.
void Worker::stop_if_waits_in_vain(const Block& block) const {
  using namespace std::chrono;
  // Far more than any block takes to reach a barrier.
  constexpr std::uint64_t turns_per_worker = 1 << 13;
  constexpr milliseconds long_enough{250};
  if (grid.turns_waited++ == 0) grid.waits_since = steady_clock::now().time_since_epoch().count();
  constexpr std::uint64_t turns_until_sure = 64; // of each worker: this process may have been suspended
  if (grid.turns_waited >= turns_until_sure * grid.workers &&
      waits_in_vain(grid, steady_clock::now() - grid.patience) &&
      !(grid.may_be_changed && grid.may_be_changed()))
    stop_waiting(block);
  if (grid.turns_waited < turns_per_worker * grid.workers) return;
  if (steady_clock::now().time_since_epoch() - steady_clock::duration(grid.waits_since) < long_enough) return;
  if (grid.shape.cooperative && grid.blocks_done != 0)
    block.stop_early(
        Fault::Kind::barrier,
        fmt::format("waits for all {} blocks of the grid, {} of which have ended without reaching this "
                    "point",
                    grid.block_count(), grid.blocks_done.load()));
  if (const std::string other = stopped_kernel(); !other.empty())
    block.stop_early(Fault::Kind::waiting, fmt::format("waits for memory to change, but {}", other), true);
}

static void tell_of_lines_left_out(const Grid& grid) {
  if (!grid.prints || grid.print_limit == 0 || grid.printed <= grid.print_limit) return;
  const std::uint64_t left_out = grid.printed - grid.print_limit;
  std::fputs(
      fmt::format("(printf: {} more line{} of this launch left out)\n", left_out, left_out == 1 ? "" : "s")
          .c_str(),
      stdout);
}

bool executes_kernel() {
  return executing;
}

LaunchRecord launch(Kernel& kernel, const LaunchShape& shape, std::span<const std::byte> parameters,
                    const LaunchOptions& options) {
  static std::atomic<std::uint64_t> grids = 0;
  const bool followed = options.watcher && options.watcher->follows_values();
  const Code& code = kernel.code(followed);
  unsigned workers = options.workers ? options.workers : std::max(1u, std::thread::hardware_concurrency());
  if (followed) workers = 1; // values are followed in one order
  workers =
      static_cast<unsigned>(std::min<std::uint64_t>(workers, shape.grid.count() / shape.cluster.count()));
  const auto now = std::chrono::steady_clock::now();
  Grid grid{.code = code,
            .shape = shape,
            .parameters = parameters,
            .memory = kernel.program().memory(),
            .watcher = options.watcher,
            .step_limit = options.step_limit ? options.step_limit : default_step_limit,
            .begin = now,
            .deadline = options.time_limit.count() ? now + options.time_limit
                                                   : std::chrono::steady_clock::time_point::max(),
            .interrupt = options.interrupt,
            .prints = options.prints,
            .print_limit = options.print_limit,
            .stack_bytes = std::max(options.stack_bytes, Limits::smallest_stack),
            .workers = workers,
            .schedule = options.schedule,
            .id = ++grids,
            .device = kernel.program().device(),
            .peers = options.peers,
            .textures = options.textures,
            .device_runtime = options.device_runtime,
            .patience = options.patience,
            .may_be_changed = options.may_be_changed,
            .complete = options.complete,
            .points_to_bytes = options.points_to_bytes,
            .mutex = {},
            .fault = {}};
  LaunchRecord record{.kernel = kernel.name(),
                      .shape = shape,
                      .source = &kernel,
                      .counters = std::vector<OperationCounters>(code.operations.size()),
                      .busiest = {},
                      .device = grid.device,
                      .links = {},
                      .blocks = 0,
                      .looked = false,
                      .fault = {}};
  const RunningGrid runs(grid);
  if (grid.watcher) grid.watcher->launch_begin(grid);
  std::function<void()> work = [&] {
    const auto stop = [&](const Fault& fault) {
      std::lock_guard lock(grid.mutex);
      if (!grid.fault) grid.fault = fault;
      grid.stop = true;
    };
    try {
      Worker worker(grid);
      try {
        worker.run();
      } catch (const LaunchStopped& stopped) {
        stop(stopped.fault);
      }
      std::lock_guard lock(grid.mutex);
      add(record.counters, worker.counters);
      record.busiest.include(worker.busiest);
      record.links += worker.links;
      record.looked |= worker.looked;
    } catch (const std::bad_alloc&) {
      stop({.kind = Fault::Kind::out_of_memory,
            .where = {},
            .other = {},
            .message = "this machine has no memory left for the blocks of the launch"});
    }
  };
  if (workers <= 1)
    work();
  else
    BorrowedPool()->run(workers - 1, work);
  spread_heads(code, record.counters);
  tell_of_lines_left_out(grid);
  record.blocks = grid.blocks_done;
  if (grid.fault && grid.fault->launch.empty() && grid.complete) grid.complete(*grid.fault);
  record.printed = grid.printed;
  record.fault = grid.fault;
  if (grid.watcher) grid.watcher->launch_end(grid);
  return record;
}

bool calls_runtime(Kernel& kernel) {
  return kernel.code().calls_runtime;
}

bool polls(Kernel& kernel) {
  return kernel.code().polls;
}

} // namespace warpfold::machine
