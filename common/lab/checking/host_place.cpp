#include "checking/host_place.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

namespace lab {
namespace {

constexpr int most_frames = 48;
void* frames[most_frames];
std::atomic<std::uint64_t> interrupted = 0; // the address of the instruction
std::atomic<int> frame_count = 0;
std::atomic<bool> has_main_thread = false;
pthread_t main_thread;

int asking_signal() {
  return SIGRTMIN + 7; // which neither CUDA, MPI nor the emulator use
}

// The output of a program; "" if it cannot be run.
std::string output_of(std::vector<std::string> command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t got; !failed && (got = read(ends[0], part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(got));
  close(ends[0]);
  if (!failed) waitpid(child, nullptr, 0);
  return text;
}

std::uint64_t instruction_of(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uint64_t>(machine.gregs[REG_RIP]);
#else
  return machine.pc;
#endif
}

// The first "file:line" of addr2line's answer that somebody wrote for this program.
std::string first_of_program(std::string_view answer) {
  while (!answer.empty()) {
    const std::size_t end = std::min(answer.find('\n'), answer.size());
    const std::string_view place = answer.substr(0, end);
    answer.remove_prefix(std::min(end + 1, answer.size()));
    const std::size_t colon = place.rfind(':');
    if (colon == std::string_view::npos) continue;
    int line = 0; // "?" stays 0
    std::from_chars(place.data() + colon + 1, place.data() + place.size(), line);
    const std::filesystem::path file = std::filesystem::path(place.substr(0, colon)).lexically_normal();
    const std::string& name = file.native();
    const bool of_the_lab_library = name.find("/common/lab/") != std::string::npos;
    if (line == 0 || (of_the_lab_library && file.extension() == ".cpp")) return "";
    if (of_the_lab_library || !name.starts_with('/') || name.starts_with("/usr/")) continue;
    std::error_code unknown;
    const std::string shorter = file.lexically_relative(std::filesystem::current_path(unknown)).string();
    return fmt::format("{}:{}", shorter.empty() || shorter.starts_with("..") ? name : shorter, line);
  }
  return "";
}

} // namespace

void remember_main_thread() {
  main_thread = pthread_self();
  // Its first call loads a library, which a handler must not.
  frame_count = backtrace(frames, 1), frame_count = 0;
  struct sigaction action = {};
  action.sa_sigaction = [](int, siginfo_t*, void* context) {
    const int error = errno;
    note_host_place(context);
    errno = error;
  };
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(asking_signal(), &action, nullptr);
  has_main_thread = true;
}

void note_host_place(const void* context) {
  interrupted = instruction_of(context);
  frame_count = backtrace(frames, most_frames);
}

void ask_for_host_place() {
  if (!has_main_thread || frame_count != 0 || pthread_kill(main_thread, asking_signal()) != 0) return;
  for (int i = 0; i < 100 && frame_count == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

std::string host_place() {
  Dl_info program{};
  if (!dladdr(reinterpret_cast<const void*>(&host_place), &program)) return "";
  const auto* header = static_cast<const ElfW(Ehdr)*>(program.dli_fbase);
  std::vector<std::string> command{"addr2line", "-i", "-e", "/proc/self/exe"};
  command.back() = std::filesystem::read_symlink("/proc/self/exe");
  const auto base = header->e_type == ET_DYN ? reinterpret_cast<std::uint64_t>(program.dli_fbase) : 0;
  bool is_handler = true; // and what calls it
  for (int i = 0; i < frame_count; ++i) {
    const auto address = reinterpret_cast<std::uint64_t>(frames[i]);
    const bool is_interrupted = address == interrupted;
    is_handler = is_handler && !is_interrupted;
    Dl_info info{};
    if (is_handler || !dladdr(frames[i], &info) || info.dli_fbase != program.dli_fbase) continue;
    // A caller's address is behind the call.
    command.push_back(fmt::format("0x{:x}", address - base - (is_interrupted ? 0 : 1)));
  }
  return command.size() == 4 ? "" : first_of_program(output_of(std::move(command)));
}

} // namespace lab
