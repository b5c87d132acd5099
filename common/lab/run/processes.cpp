#include "run/processes.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lab {
namespace {

std::atomic<pid_t> running_child = 0;

} // namespace

void note_child(int process) {
  running_child = process;
}

bool child_is_running() {
  return running_child != 0;
}

void forward_to_child(int signal) {
  if (const pid_t child = running_child; child != 0) kill(child, signal);
}

std::vector<std::string> arguments_for(char** argv, std::span<const std::string> rungs, bool as_json) {
  std::vector<std::string> arguments{argv[0]};
  for (char** at = argv + 1; *at; ++at) {
    const std::string_view argument(*at);
    if (argument == "--rung") {
      if (at[1]) ++at;
    } else if (!argument.starts_with("--rung=") &&
               !(as_json && (argument == "--tap" || argument == "--json"))) {
      arguments.emplace_back(argument);
    }
  }
  if (as_json) arguments.emplace_back("--json");
  for (const std::string& rung : rungs) arguments.push_back("--rung=" + rung);
  return arguments;
}

StdoutAside::StdoutAside(bool wanted) {
  if (!wanted) return;
  std::fflush(stdout);
  real_ = dup(STDOUT_FILENO);
  if (real_ >= 0) dup2(STDERR_FILENO, STDOUT_FILENO);
}

void StdoutAside::end() {
  if (real_ < 0) return;
  std::fflush(stdout);
  dup2(real_, STDOUT_FILENO);
  close(real_);
  real_ = -1;
}

namespace {

// `quiet`: what it prints to stderr is dropped.
ChildOutput run_this_program(std::vector<std::string> arguments, bool returns_stdout, bool quiet,
                             std::span<const std::string> under) {
  if (!under.empty()) {
    arguments[0] = std::filesystem::read_symlink("/proc/self/exe");
    arguments.insert(arguments.begin(), under.begin(), under.end());
  }
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  std::array<int, 2> ends{-1, -1};
  if (returns_stdout && pipe(ends.data()) != 0)
    throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); // the child ends with this process, however that ends
    if (returns_stdout) dup2(ends[1], STDOUT_FILENO), close(ends[0]), close(ends[1]);
    if (quiet) dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    if (under.empty()) {
      execv("/proc/self/exe", pointers.data());
    } else {
      execvp(pointers[0], pointers.data());
    }
    _exit(127);
  }
  running_child = child;
  ChildOutput result;
  if (returns_stdout) {
    close(ends[1]);
    std::array<char, 4096> part;
    for (ssize_t got; (got = read(ends[0], part.data(), part.size())) > 0 || (got < 0 && errno == EINTR);) {
      if (got > 0) result.output.append(part.data(), static_cast<std::size_t>(got));
    }
    close(ends[0]);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  running_child = 0;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

} // namespace

ChildOutput run_again_for(char** argv, std::span<const std::string> rungs, bool as_json,
                          std::span<const std::string> under) {
  return run_this_program(arguments_for(argv, rungs, as_json), as_json, false, under);
}

std::string json_on_emulator(char** argv, const std::string& rung) {
  std::vector<std::string> arguments;
  for (std::string& argument : arguments_for(argv, std::span(&rung, 1), true)) {
    const bool is_value = !arguments.empty() && arguments.back() == "--device";
    if (is_value) arguments.pop_back();
    if (!is_value && !argument.starts_with("--device=") && argument != "--time")
      arguments.push_back(std::move(argument));
  }
  arguments.emplace_back("--device=emulator");
  return run_this_program(std::move(arguments), true, true, {}).output;
}

} // namespace lab
