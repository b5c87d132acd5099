// WARPFOLD_REPORT: the report, which is written when the process ends, and before that as hazards are found:
// a process may end by SIGKILL.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>

namespace warpfold::runtime {

class ReportFile {
public:
  void set_path(std::string path) { path_ = std::move(path); }
  bool wanted() const { return !path_.empty(); }
  // Writes the whole text or nothing: it writes a temporary file in the same folder and renames it. Reports
  // failures on stderr.
  void write(const std::string& text) const;
  // Writes text() if there is something new (a hazard, or only launches for long) and writing takes little of
  // the time; for a hazard also at once, as long as that has not taken much. Any thread may call it.
  void keep_up(bool has_new_hazard, const std::function<std::string()>& text);

private:
  using Clock = std::chrono::steady_clock;
  std::string path_;
  std::mutex mutex_;
  bool is_due_ = false;
  Clock::time_point written_{};
  Clock::duration took_{}, spent_{};
};

} // namespace warpfold::runtime
