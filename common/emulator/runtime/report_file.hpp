// WARPFOLD_REPORT: the report that is written when the process ends.
#pragma once

#include <string>

namespace warpfold::runtime {

class ReportFile {
public:
  void set_path(std::string path) { path_ = std::move(path); }
  bool wanted() const { return !path_.empty(); }
  // Writes the whole text or nothing: it writes a temporary file in the same folder and renames it. Reports
  // failures on stderr.
  void write(const std::string& text) const;

private:
  std::string path_;
};

} // namespace warpfold::runtime
