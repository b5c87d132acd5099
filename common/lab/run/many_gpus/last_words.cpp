#include "run/many_gpus/last_words.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <random>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace lab {
namespace {

enum class Said : int { nothing, answer, failure, last };

struct Words {
  std::atomic<pid_t> process;
  std::atomic<std::uint64_t> pid_namespace;
  std::atomic<Said> said;
  std::atomic<std::int64_t> when; // by the machine's clock
  char text[1000];
};
struct Place {
  std::atomic<bool> asked, noticed;
  Words of[1]; // of each rank
};

Place* place = nullptr;
std::atomic<bool> has_left = false;
int places = 0, own_place = 0;
bool has_answered = false;
std::string name_of_place; // on rank 0

std::uint64_t own_namespace() {
  struct stat about {};
  return stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0;
}

void map(const std::string& name, int flags, int ranks) {
  const std::size_t size = sizeof(Place) + sizeof(Words) * static_cast<std::size_t>(ranks);
  const int file = shm_open(name.c_str(), flags | O_RDWR, 0600);
  if (file < 0) return;
  if (!(flags & O_CREAT) || ftruncate(file, static_cast<off_t>(size)) == 0) {
    void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) place = static_cast<Place*>(memory), places = ranks; // all zero
  }
  close(file);
}

std::int64_t now() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

bool can_talk() {
  return place && !has_left;
}

void say(Said how, const std::string& text) {
  Words& words = place->of[own_place];
  if (words.said >= how) return;
  std::strncpy(words.text, text.c_str(), sizeof words.text - 1);
  words.when = now();
  words.said = how;
}

template <class Condition>
void wait_until(Condition holds, std::chrono::milliseconds at_most) {
  const auto end = std::chrono::steady_clock::now() + at_most;
  while (!holds() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

bool is_gone(const Words& words) {
  const pid_t process = words.process;
  return process != 0 && words.pid_namespace == own_namespace() && kill(process, 0) != 0 && errno == ESRCH;
}

// A failure is heard of in another way if rank 0 comes to it.
bool is_lost(const Words& words) {
  constexpr std::int64_t patience = 1500;
  return words.said == Said::last || (words.said == Said::failure && now() - words.when > patience) ||
         is_gone(words);
}

} // namespace

std::string make_place_for_words(int ranks) {
  name_of_place = fmt::format("/warpfold-ranks-{}-{:08x}", getpid(), std::random_device{}());
  map(name_of_place, O_CREAT | O_EXCL, ranks);
  if (!place) name_of_place.clear();
  return name_of_place;
}

void find_place_for_words(const std::string& name, int ranks) {
  if (!name.empty()) map(name, 0, ranks);
}

void settle_in_place_for_words(int own_rank) {
  own_place = own_rank;
  if (own_place == 0 && !name_of_place.empty()) shm_unlink(name_of_place.c_str());
  if (!place) return;
  place->of[own_place].pid_namespace = own_namespace();
  place->of[own_place].process = getpid();
}

void leave_place_for_words() {
  has_left = true;
}

void leave_last_words(const std::string& text) {
  if (!can_talk()) return;
  say(Said::last, text);
  wait_until([] { return place->noticed.load(); }, std::chrono::milliseconds(1000));
}

void leave_word_of_failure(const std::string& text) {
  if (can_talk()) say(Said::failure, text);
}

bool is_asked_for_words() {
  return can_talk() && place->asked && !has_answered;
}

void answer_with_words(const std::string& text) {
  has_answered = true;
  say(Said::answer, text);
}

bool has_lost_a_rank() {
  if (!can_talk()) return false;
  for (int rank = 1; rank < places; ++rank)
    if (is_lost(place->of[rank])) return true;
  return false;
}

std::string words_of_the_lost() {
  if (!can_talk()) return "";
  std::string all;
  for (int rank = 1; rank < places; ++rank) {
    const Words& words = place->of[rank];
    if (!is_lost(words)) continue;
    // Several may fail in the same way.
    const std::string text = words.said >= Said::failure ? words.text : "its process has ended";
    if (all.find(text) == std::string::npos)
      all += fmt::format("{}rank {}: {}", all.empty() ? "" : "\n  ", rank, text);
  }
  place->noticed = true;
  return all;
}

bool is_only_failure() {
  if (!can_talk()) return false;
  for (int rank = 1; rank < places; ++rank)
    if (place->of[rank].said == Said::last || is_gone(place->of[rank])) return false;
  return has_lost_a_rank();
}

std::string answers_of_all() {
  if (!can_talk()) return "";
  place->asked = true;
  const auto have_all_answered = [] {
    for (int rank = 1; rank < places; ++rank)
      if (place->of[rank].process != 0 && place->of[rank].said == Said::nothing) return false;
    return true;
  };
  wait_until(have_all_answered, std::chrono::milliseconds(1000));
  std::string all;
  for (int rank = 1; rank < places; ++rank) {
    const Words& words = place->of[rank];
    if (words.said != Said::answer || words.text[0] == '\0') continue;
    all += fmt::format("{}rank {} {}", all.empty() ? "" : "; ", rank, words.text);
  }
  return all;
}

} // namespace lab
