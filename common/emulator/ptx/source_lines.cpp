#include "ptx/source_lines.hpp"

#include <cstddef>
#include <utility>

namespace warpfold::ptx {
namespace {

std::uint64_t key_of(const SourcePosition& position) {
  return (std::uint64_t{position.file} << 46) ^ (std::uint64_t{position.line} << 16) ^ position.column;
}

// The part of the path that is common to all libraries of NVIDIA's toolkit, wherever it is installed.
bool is_of_library(std::string_view path) {
  for (const std::string_view part : {"/cccl/", "/cub/", "/thrust/", "/cuda/std/", "/cooperative_groups"})
    if (path.find(part) != path.npos) return true;
  return false;
}

} // namespace

SourceLines::SourceLines() = default;

void SourceLines::find_libraries(std::string_view text) {
  constexpr std::string_view directive = ".file";
  for (std::size_t at = 0; (at = text.find(directive, at)) != text.npos;) {
    at += directive.size();
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    std::size_t digit = line.find_first_not_of(" \t");
    std::uint32_t number = 0;
    for (; digit < line.size() && line[digit] >= '0' && line[digit] <= '9'; ++digit)
      number = number * 10 + static_cast<std::uint32_t>(line[digit] - '0');
    if (is_of_library(line)) library_files_.insert(number);
  }
}

void SourceLines::begin_function(std::string_view name) {
  charged_.clear();
  last_ = {};
  of_library_ = name.starts_with("_ZN3cub") || name.starts_with("_ZN6thrust");
  of_other_file_ = false;
}

std::uint32_t SourceLines::locate(const SourcePosition& position, const SourcePosition* inlined_at) {
  Charged charged{{position.file, position.line}, position.file, library_files_.contains(position.file)};
  if (inlined_at != nullptr) {
    const auto call = charged_.find(key_of(*inlined_at));
    const Charged of_call = call != charged_.end() ? call->second
                                                   : Charged{{inlined_at->file, inlined_at->line},
                                                             inlined_at->file,
                                                             library_files_.contains(inlined_at->file)};
    charged.of_library |= of_call.of_library;
    charged.of_other_file = position.file != of_call.program_file;
    if (charged.of_other_file)
      charged.to = of_call.to;
    else if (of_call.to.file == position.file)
      charged.to.call_line = of_call.to.line;
    charged.program_file = of_call.program_file;
  }
  if (charged.to.line == 0) charged.to = last_;
  charged_[key_of(position)] = charged;
  last_ = charged.to;
  of_library_ = charged.of_library, of_other_file_ = charged.of_other_file;
  return index_of(charged.to);
}

std::uint32_t SourceLines::index_of(Location location) {
  if (location.line == 0) return 0;
  const std::tuple key(location.file, location.line, location.call_line);
  const auto [entry, fresh] =
      location_indices_.try_emplace(key, static_cast<std::uint32_t>(locations_.size()));
  if (fresh) locations_.push_back(location);
  return entry->second;
}

void SourceLines::file(std::uint32_t number, std::string name) {
  const auto [entry, fresh] = file_indices_.try_emplace(number, static_cast<std::uint32_t>(files_.size()));
  if (fresh) files_.push_back(std::move(name));
}

void SourceLines::finish(Module& module) {
  for (Location& location : locations_) {
    const auto entry = file_indices_.find(location.file);
    location.file = entry != file_indices_.end() ? entry->second : 0;
  }
  module.locations = std::move(locations_);
  module.files = std::move(files_);
}

} // namespace warpfold::ptx
