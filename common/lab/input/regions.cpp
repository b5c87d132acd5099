#include "input/regions.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace lab {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// What follows `prefix` in a line comment, or nothing.
std::optional<std::string_view> after(std::string_view line, std::string_view prefix) {
  if (!line.starts_with(prefix)) return std::nullopt;
  return trim(line.substr(prefix.size()));
}

// Tells code from comments and blanks, line by line; /* */ comments may span lines.
class CodeFinder {
public:
  bool has_code(std::string_view line) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string_view rest = line.substr(i);
      if (inside_) {
        if (rest.starts_with("*/")) inside_ = false, ++i;
      } else if (rest.starts_with("//")) {
        return false;
      } else if (rest.starts_with("/*")) {
        inside_ = true, ++i;
      } else if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r') {
        // The rest of the line may still open a comment that goes on.
        const auto open = rest.rfind("/*");
        inside_ = open != rest.npos && rest.find("*/", open) == rest.npos && rest.find("//") > open;
        return true;
      }
    }
    return false;
  }

private:
  bool inside_ = false;
};

} // namespace

std::vector<Region> find_regions(std::string_view source, std::string_view file) {
  std::vector<Region> regions;
  std::optional<Region> open;
  CodeFinder finder;
  bool in_todo = false;
  for (int number = 1; !source.empty(); ++number) {
    const auto end = source.find('\n');
    const std::string_view line = trim(source.substr(0, end));
    source.remove_prefix(end == source.npos ? source.size() : end + 1);
    if (const auto name = after(line, "// BEGIN ")) {
      if (open) {
        throw RegionError(
            fmt::format("{}:{}: \"BEGIN {}\" inside the region of {}, which starts at line {}; put back "
                        "the line \"// END {}\"",
                        file, number, *name, open->rung, open->first_line, open->rung));
      }
      open = Region{std::string(*name), number, 0, false, 0, ""};
      finder = {};
      continue;
    }
    if (const auto name = after(line, "// END ")) {
      if (!open || open->rung != *name) {
        throw RegionError(fmt::format("{}:{}: \"END {}\" without the line \"// BEGIN {}\" before it", file,
                                      number, *name, *name));
      }
      open->last_line = number;
      if (open->todo_line == 0) open->todo_line = open->first_line + 1;
      if (open->todo.empty() && !open->filled)
        open->todo = fmt::format("There is no code yet between \"// BEGIN {0}\" and \"// END {0}\".", *name);
      regions.push_back(*open);
      open.reset();
      continue;
    }
    if (!open) continue;
    if (finder.has_code(line)) open->filled = true;
    if (const auto text = after(line, "// TODO: "); text && open->todo.empty()) {
      open->todo_line = number;
      open->todo = *text;
      in_todo = true;
    } else if (const auto more = after(line, "//"); more && in_todo) {
      open->todo += ' ';
      open->todo += *more;
    } else {
      in_todo = false;
    }
  }
  if (open) {
    throw RegionError(fmt::format("{}:{}: the region of {} has no end; put back the line \"// END {}\"", file,
                                  open->first_line, open->rung, open->rung));
  }
  for (auto region = regions.begin(); region != regions.end(); ++region) {
    const auto is_of_rung = [&](const Region& other) { return other.rung == region->rung; };
    const auto before = std::count_if(regions.begin(), region, is_of_rung);
    const auto count = before + std::count_if(region, regions.end(), is_of_rung);
    if (count > 1 && !region->todo.empty())
      region->todo = fmt::format("region {} of {}: {}", before + 1, count, region->todo);
  }
  return regions;
}

const Region* next_todo(const std::vector<Region>& regions, std::span<const Rung> rungs, const Rung& rung) {
  for (const Rung& other : rungs) {
    if (!rung.base || std::string_view(other.name) != rung.base || &other == &rung) continue;
    if (const Region* todo = next_todo(regions, rungs, other)) return todo;
  }
  for (const Region& region : regions) {
    if (region.rung == rung.name && !region.filled && !rung.to_repair) return &region;
  }
  return nullptr;
}

const Region* next_repair(const std::vector<Region>& regions, const Rung& rung) {
  for (const Region& region : regions) {
    if (region.rung == rung.name && region.filled && !region.todo.empty()) return &region;
  }
  return nullptr;
}

} // namespace lab
