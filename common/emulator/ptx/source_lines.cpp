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
  outermost_.clear();
  last_ = {};
}

std::uint32_t SourceLines::locate(const SourcePosition& position, const SourcePosition* inlined_at) {
  Location location{position.file, position.line};
  if (inlined_at != nullptr) {
    const auto outer = outermost_.find(key_of(*inlined_at));
    location = outer != outermost_.end() ? outer->second : Location{inlined_at->file, inlined_at->line};
  }
  if (location.line == 0) location = last_;
  outermost_[key_of(position)] = location;
  last_ = location;
  return index_of(location);
}

std::uint32_t SourceLines::index_of(Location location) {
  if (location.line == 0) return 0;
  const std::uint64_t key = (std::uint64_t{location.file} << 32) | location.line;
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
