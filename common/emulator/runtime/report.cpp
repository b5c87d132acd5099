// warpfold_emulator.h, and the report at the end of the process.
#include "errors.hpp"
#include "report_file.hpp"
#include "runtime.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

namespace warpfold::runtime {

void ReportFile::write(const std::string& text) const {
  const std::string temporary = fmt::format("{}.{}.tmp", path_, getpid());
  std::ofstream file(temporary);
  file << text << '\n';
  file.close();
  if (!file || std::rename(temporary.c_str(), path_.c_str()) != 0) {
    say(fmt::format("cannot write the report to '{}': {}", path_, std::strerror(errno)));
    std::remove(temporary.c_str());
  }
}

} // namespace warpfold::runtime

using namespace warpfold::runtime;

#pragma GCC visibility push(default)
#include "warpfold_emulator.h"
#pragma GCC visibility pop

extern "C" {

int warpfold_emulator_interface(void) {
  return 1;
}

void warpfold_emulator_reset(void) {
  Runtime& runtime = Runtime::get();
  runtime.recorder.reset();
  runtime.recording = true;
}

const char* warpfold_emulator_report(void) {
  static std::string& text = *new std::string;
  static std::mutex& mutex = *new std::mutex;
  std::lock_guard lock(mutex);
  text = Runtime::get().recorder.json();
  return text.c_str();
}

int warpfold_emulator_option(const char* name, const char* value) {
  return name && value && set_option(Runtime::get().options, name, value) ? 0 : -1;
}
}
