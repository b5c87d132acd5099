#include "run/host_place.hpp"

#include "source_lines.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <dlfcn.h>
#include <execinfo.h>
#include <filesystem>
#include <pthread.h>
#include <thread>
#include <ucontext.h>
#include <utility>
#include <vector>

namespace lab {
namespace {

constexpr int most_frames = 48;
void* frames[most_frames];
std::atomic<std::uint64_t> interrupted = 0;    // the address of the instruction
std::atomic<bool> interrupted_by_call = false; // then it is the one after the call
std::atomic<int> frame_count = 0;
std::atomic<bool> has_main_thread = false;
pthread_t main_thread;

int asking_signal() {
  return SIGRTMIN + 7; // which neither CUDA, MPI nor the emulator use
}

std::uint64_t instruction_of(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uint64_t>(machine.gregs[REG_RIP]);
#else
  return machine.pc;
#endif
}

// The C++ library's, which may be linked into the program: what std::terminate() and `throw` run through.
bool is_of_cpp_library(const std::string& function) {
  return std::ranges::any_of(std::array{"_ZSt", "_ZNSt", "_ZN10__cxxabiv1", "_ZN9__gnu_cxx", "__cxa_"},
                             [&](const char* begin) { return function.starts_with(begin); });
}

// The first place that somebody wrote for this program; "" if the lab library or an unknown file comes
// before.
std::string first_of_program(const std::vector<warpfold::SourcePlace>& places) {
  bool is_of_launch = false; // and not yet at the place that launches
  for (const warpfold::SourcePlace& place : places) {
    if (std::exchange(is_of_launch, place.is_in_stub()) || is_of_launch) continue;
    if (place.line == 0 && is_of_cpp_library(place.function)) continue;
    const bool of_the_lab_library = place.file.find("/common/lab/") != std::string::npos;
    if (place.line == 0 || (of_the_lab_library && place.file.ends_with(".cpp"))) return "";
    if (!of_the_lab_library && !place.is_of_system()) return place.text();
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

void note_host_place_of_call(const void* return_address) {
  interrupted = reinterpret_cast<std::uint64_t>(return_address);
  interrupted_by_call = true;
  frame_count = backtrace(frames, most_frames);
}

void ask_for_host_place() {
  if (!has_main_thread || frame_count != 0 || pthread_kill(main_thread, asking_signal()) != 0) return;
  for (int i = 0; i < 100 && frame_count == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

std::string host_place() {
  Dl_info program{};
  if (!dladdr(reinterpret_cast<const void*>(&host_place), &program)) return "";
  std::vector<std::uint64_t> addresses;
  bool is_handler = true; // and what calls it
  for (int i = 0; i < frame_count; ++i) {
    const auto address = reinterpret_cast<std::uint64_t>(frames[i]);
    const bool is_interrupted = address == interrupted;
    is_handler = is_handler && !is_interrupted;
    Dl_info info{};
    if (is_handler || !dladdr(frames[i], &info) || info.dli_fbase != program.dli_fbase) continue;
    // A caller's address is behind the call.
    const bool is_at_instruction = is_interrupted && !interrupted_by_call;
    addresses.push_back(warpfold::address_in_file(frames[i], program.dli_fbase) -
                        (is_at_instruction ? 0 : 1));
  }
  const std::string module = std::filesystem::read_symlink("/proc/self/exe");
  return first_of_program(warpfold::source_places(module, addresses));
}

} // namespace lab
