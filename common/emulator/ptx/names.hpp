// The meanings of the names of a PTX text while it is parsed. Scopes nest (PTX ISA 5.1 and the braces of a
// body); an inner name hides an outer one until its scope ends.
#pragma once

#include "ptx/module.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace warpfold::ptx {

template <typename Value>
class ScopedMap {
public:
  void enter() { marks_.push_back(changes_.size()); }

  void leave() {
    while (changes_.size() > marks_.back()) {
      auto& [name, hidden] = changes_.back();
      if (hidden) {
        entries_.insert_or_assign(name, *hidden);
      } else {
        entries_.erase(name);
      }
      changes_.pop_back();
    }
    marks_.pop_back();
  }

  // False if the innermost scope already has the name; it then keeps its meaning.
  bool declare(std::string_view name, const Value& value) {
    const Entry entry{value, static_cast<std::uint32_t>(marks_.size())};
    const auto [place, fresh] = entries_.try_emplace(name, entry);
    if (!fresh && place->second.depth == entry.depth) return false;
    if (!marks_.empty())
      changes_.emplace_back(name, fresh ? std::nullopt : std::optional<Entry>(place->second));
    place->second = entry;
    return true;
  }

  struct Entry {
    Value value;
    std::uint32_t depth; // of the scope that declares it
  };
  const Entry* find(std::string_view name) const {
    const auto place = entries_.find(name);
    return place != entries_.end() ? &place->second : nullptr;
  }

private:
  std::unordered_map<std::string_view, Entry> entries_;
  std::vector<std::pair<std::string_view, std::optional<Entry>>> changes_; // to be undone when scopes end
  std::vector<std::size_t> marks_;
};

struct Name {
  enum class Kind : std::uint8_t {
    symbol,
    reg,             // index into Function::registers
    vector_register, // `.reg .v4 .f32 v`: `width` registers from index on
    targets,         // of `.branchtargets` and `.calltargets`: index into the parser's lists
  };
  Kind kind{};
  Symbol symbol;
  std::uint32_t index = 0;
  std::uint32_t width = 1;
};

// `.reg .b32 %r<34>` declares %r0 to %r33 at once: kept as one entry, found by prefix and number.
struct RegisterFamily {
  std::uint32_t first = 0, count = 0;
};

class Names {
public:
  void enter() {
    names_.enter();
    families_.enter();
  }
  void leave() {
    names_.leave();
    families_.leave();
  }
  bool declare(std::string_view name, const Name& value) {
    numbered_names_ |= !name.empty() && name.back() >= '0' && name.back() <= '9';
    return names_.declare(name, value);
  }
  bool declare_family(std::string_view prefix, RegisterFamily family) {
    return families_.declare(prefix, family);
  }
  std::optional<Name> find(std::string_view name) const;

private:
  struct Member {
    std::uint32_t index = 0, depth = 0;
  };
  std::optional<Member> find_in_family(std::string_view name) const;

  ScopedMap<Name> names_;
  ScopedMap<RegisterFamily> families_;
  bool numbered_names_ = false; // some name declared by itself could hide a family's member
};

} // namespace warpfold::ptx
