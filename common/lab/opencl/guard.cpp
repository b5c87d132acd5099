#include "opencl/guard.hpp"

#include "run/processes.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lab::opencl {
namespace {

constexpr std::size_t longest = 600;
constexpr int asking[] = {SIGINT, SIGTERM, SIGHUP}, crashing[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

void put(char (&to)[longest], const std::string& text) {
  to[text.copy(to, longest - 1)] = '\0';
}

} // namespace

struct Trail::Page {
  std::atomic<bool> is_checking{false};
  char rung[longest], name[longest], message[longest], known[longest];
  std::size_t n;
  bool ok, usual;
};

Trail::Trail() {
  void* const memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error(std::string("mmap: ") + std::strerror(errno));
  page_ = new (memory) Page{};
}

Trail::~Trail() {
  munmap(page_, sizeof(Page));
}

void Trail::begins(const std::string& rung) {
  page_->ok = true;
  put(page_->rung, rung), knows("");
  runs({.name = "the rung runs", .message = "", .diagnosis = {}});
  page_->is_checking = true;
}

void Trail::runs(const Check& check) {
  if (!page_->ok) return; // the first wrong check has been reported
  put(page_->name, check.name), put(page_->message, check.message);
  page_->n = check.n, page_->ok = check.ok, page_->usual = check.usual;
}

void Trail::knows(const std::string& reason) {
  put(page_->known, reason);
}

std::string Trail::known() const {
  return page_->known;
}

void Trail::ends() {
  page_->is_checking = false;
}

std::optional<std::string> Trail::rung() const {
  return page_->is_checking ? std::optional<std::string>(page_->rung) : std::nullopt;
}

Check Trail::check() const {
  return {.name = page_->name,
          .ok = page_->ok,
          .message = page_->message,
          .diagnosis = {},
          .n = page_->n,
          .usual = page_->usual};
}

Trail& trail() {
  static Trail only;
  return only;
}

void note(Progress& progress, const Check& check) {
  trail().runs(check);
  check.ok ? progress.runs(check) : progress.is_wrong(check);
}

Ended run_in_child(const std::function<int()>& body) {
  sigset_t asked, before;
  sigemptyset(&asked);
  for (const int signal : asking) sigaddset(&asked, signal);
  sigprocmask(SIG_BLOCK, &asked, &before); // until both processes are ready for them
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); // the child ends with this process, whoever ends it
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    const int code = body();
    std::fflush(nullptr);
    _exit(code);
  }
  note_child(child);
  struct sigaction others[std::size(asking)] = {};
  for (std::size_t i = 0; i < std::size(asking); ++i) {
    struct sigaction action = {};
    action.sa_handler = forward_to_child;
    sigemptyset(&action.sa_mask);
    sigaction(asking[i], &action, &others[i]);
    if (others[i].sa_handler == SIG_IGN) sigaction(asking[i], &others[i], nullptr);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  note_child(0);
  for (std::size_t i = 0; i < std::size(asking); ++i) sigaction(asking[i], &others[i], nullptr);
  return WIFEXITED(status) ? Ended{WEXITSTATUS(status), 0} : Ended{0, WTERMSIG(status)};
}

void leave_crashes_to_the_parent() {
  for (const int signal : crashing) std::signal(signal, SIG_DFL);
}

std::string crash_text(int signal, bool with_advice) {
  const bool by_memory = with_advice && (signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT);
  return fmt::format(
      "the rung ended the program ({}){}", strsignal(signal),
      by_memory
          ? ". On a CPU, a kernel shares the program's memory: one that reads or writes beyond its arrays "
            "may end it. Is each index below n, or below the size of the group, wherever it is used?"
          : "");
}

} // namespace lab::opencl
