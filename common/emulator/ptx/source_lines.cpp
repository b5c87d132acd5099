#include "ptx/source_lines.hpp"

#include <utility>

namespace warpfold::ptx {
namespace {

std::uint64_t key_of(const SourcePosition& position) {
  return (std::uint64_t{position.file} << 46) ^ (std::uint64_t{position.line} << 16) ^ position.column;
}

} // namespace

SourceLines::SourceLines() = default;

void SourceLines::begin_function() {
  charged_.clear();
  last_ = {};
}

std::uint32_t SourceLines::locate(const SourcePosition& position, const SourcePosition* inlined_at) {
  Charged charged{{position.file, position.line}, position.file};
  if (inlined_at != nullptr) {
    const auto call = charged_.find(key_of(*inlined_at));
    const Charged of_call = call != charged_.end()
                                ? call->second
                                : Charged{{inlined_at->file, inlined_at->line}, inlined_at->file};
    if (position.file != of_call.program_file)
      charged.to = of_call.to;
    else if (of_call.to.file == position.file)
      charged.to.call_line = of_call.to.line;
    charged.program_file = of_call.program_file;
  }
  if (charged.to.line == 0) charged.to = last_;
  charged_[key_of(position)] = charged;
  last_ = charged.to;
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
