#include "runtime/launches/progress.hpp"

#include "machine/machine.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/runtime.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <pthread.h>
#include <thread>

namespace warpfold::runtime {
namespace {

constexpr std::chrono::milliseconds between_writes{200};

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

// Held while the file is written. It outlives static objects, since the thread goes on while the process
// ends.
std::mutex& one_writer() {
  static std::mutex* const only = new std::mutex;
  return *only;
}

} // namespace

// A process that is forked must not write over the file, nor find a lock that the thread holds, which is not
// there any more.
void Progress::write_to(const std::string& path) {
  path_ = path;
  start_ = Clock::now();
  pthread_atfork([] { one_writer().lock(); }, [] { one_writer().unlock(); },
                 [] {
                   one_writer().unlock();
                   Runtime::get().progress.path_.clear();
                 });
  std::thread([this] {
    for (;; std::this_thread::sleep_for(between_writes)) write();
  }).detach();
}

void Progress::write() {
  if (!wanted()) return;
  std::lock_guard lock(one_writer());
  ReportFile file;
  file.set_path(path_);
  file.write(json());
}

void Progress::begin(const Begun& begun) {
  std::lock_guard lock(mutex_);
  if (under_way_.empty()) busy_since_ = begun.at;
  under_way_.insert(&begun);
}

void Progress::end(const Begun& begun) {
  const Clock::time_point now = Clock::now();
  std::lock_guard lock(mutex_);
  Spent& spent = spent_[begun.task];
  ++spent.times;
  spent.time += now - begun.at;
  under_way_.erase(&begun);
  if (under_way_.empty()) busy_ += now - busy_since_;
}

std::string Progress::json() const {
  const machine::BlocksRunning blocks = machine::blocks_running();
  std::unique_lock lock(mutex_);
  const Clock::time_point now = Clock::now();
  std::map<Task, Spent> all = spent_;
  for (const Begun* begun : under_way_) {
    Spent& spent = all[begun->task];
    ++spent.times;
    spent.time += now - begun->at;
  }
  const Clock::duration busy = busy_ + (under_way_.empty() ? Clock::duration{} : now - busy_since_);
  lock.unlock();
  nlohmann::json text{{"emulator_seconds", seconds(now - start_)},
                      {"busy_seconds", seconds(busy)},
                      {"launches", 0},
                      {"blocks_done", blocks.done},
                      {"blocks", blocks.all},
                      {"kernels", nlohmann::json::array()}};
  std::uint64_t launches = 0;
  for (const auto& [task, spent] : all) {
    nlohmann::json row{{"times", spent.times}, {"emulator_seconds", seconds(spent.time)}};
    if (task.first != Doing::kernel) {
      text[task.first == Doing::copying ? "copies" : "loading"] = row;
      continue;
    }
    launches += spent.times;
    row["kernel"] = task.second;
    text["kernels"].push_back(row);
  }
  text["launches"] = launches;
  return text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Timed::Timed(Doing doing, std::string kernel) {
  Progress& progress = Runtime::get().progress;
  if (!progress.wanted()) return;
  begun_ = {{doing, std::move(kernel)}, Progress::Clock::now()};
  progress.begin(begun_);
}

Timed::~Timed() {
  Progress& progress = Runtime::get().progress;
  if (progress.wanted()) progress.end(begun_);
}

} // namespace warpfold::runtime
