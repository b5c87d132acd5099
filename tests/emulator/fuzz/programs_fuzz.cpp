// Damaged programs: whatever a program's text says, the emulator runs it to an end, stops it with a message,
// or refuses it, and touches no memory but the program's. Built with the address and undefined-behaviour
// sanitizers.
//
//   programs_fuzz PROGRAMS [SEED]
//
// The programs are the cases of tests/emulator/machine and tests/emulator/ptx, with numbers, types, operands,
// opcodes and lines exchanged. The program that runs is kept in programs_fuzz.ptx, so that a crash can be
// repeated.
#include "machine/case_file.hpp"

#include "analysis/checker.hpp"
#include "analysis/report.hpp"
#include "machine/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <random>
#include <sstream>
#include <unistd.h>

// Release logs that refer to one another are never freed; what is sought here is access to others' memory.
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0:allocator_may_return_null=0:handle_abort=1";
}

namespace {

using namespace warpfold;

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  return (std::ostringstream() << file.rdbuf()).str();
}

std::vector<std::string> programs() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(PTX_CASES))
    if (entry.path().extension() == ".ptx") found.push_back(contents(entry.path()));
  for (const auto& entry : std::filesystem::directory_iterator(INSTRUCTION_CASES)) {
    const cases::CaseFile file = cases::read_cases(entry.path());
    for (const cases::Instruction& instruction : file.instructions)
      for (const auto wrapping : {cases::Wrapping::plain, cases::Wrapping::branch})
        if (cases::is_possible(wrapping, instruction))
          found.push_back(cases::wrap(file, instruction, wrapping, 90));
  }
  return found;
}

class Mutator {
public:
  explicit Mutator(std::uint64_t seed) : texts_(programs()), random_(seed) {
    for (const auto& family : machine::families())
      for (const machine::Opcode& opcode : family) opcodes_.emplace_back(opcode.name);
  }

  std::string next() {
    std::vector<std::string> tokens = split(texts_[pick(texts_.size())]);
    for (std::size_t change = 0, changes = 1 + pick(4); change < changes; ++change) damage(tokens);
    std::string text;
    for (const std::string& token : tokens) text += token;
    return text;
  }
  std::size_t pick(std::size_t below) { return random_() % below; }

private:
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
  }

  // Words and numbers, and everything between them one by one.
  static std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> tokens;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = at + 1;
      if (is_word(text[at]))
        while (end < text.size() && is_word(text[end])) ++end;
      tokens.push_back(text.substr(at, end - at));
      at = end;
    }
    return tokens;
  }

  std::string number() {
    constexpr std::uint64_t telling[] = {0,          1,
                                         2,          3,
                                         4,          5,
                                         7,          8,
                                         12,         15,
                                         16,         20,
                                         31,         32,
                                         33,         63,
                                         64,         65,
                                         100,        127,
                                         128,        255,
                                         256,        2047,
                                         2048,       4095,
                                         4096,       32760,
                                         65535,      65536,
                                         400000,     1u << 20,
                                         0x7fffffff, 0x80000000,
                                         0xfffffff0, 0xffffffff,
                                         1ull << 32, (1ull << 32) + 64,
                                         1ull << 40, 1ull << 56,
                                         2ull << 56, 3ull << 56,
                                         4ull << 56, ~0ull << 12,
                                         ~127ull,    1ull << 63,
                                         ~0ull};
    const std::uint64_t value = telling[pick(std::size(telling))];
    switch (pick(4)) {
    case 0:
      return fmt::format("-{}", value);
    case 1:
      return fmt::format("{}", value + pick(16));
    default:
      return fmt::format("{}", value);
    }
  }

  // The place of a token for which `is_wanted` holds; the end if chance finds none.
  template <typename Wanted>
  std::size_t place_of(const std::vector<std::string>& tokens, Wanted is_wanted) {
    for (int tries = 0; tries < 200; ++tries)
      if (const std::size_t at = pick(tokens.size()); is_wanted(at)) return at;
    return tokens.size();
  }

  void damage(std::vector<std::string>& tokens) {
    constexpr const char* types[] = {"pred", "b8",  "b16", "b32", "b64", "b128", "u8",  "u16",
                                     "u32",  "u64", "s8",  "s16", "s32", "s64",  "f16", "f16x2",
                                     "bf16", "f32", "f64", "v2",  "v4",  "v8"};
    constexpr const char* spaces[] = {"global", "shared", "local", "param", "const"};
    const auto is_after_dot = [&](std::size_t at) { return at > 0 && tokens[at - 1] == "."; };
    const auto is_one_of = [&](std::size_t at, auto& those) {
      return is_after_dot(at) && std::ranges::find(those, tokens[at]) != std::end(those);
    };
    const auto is_number = [&](std::size_t at) {
      return std::isdigit(static_cast<unsigned char>(tokens[at][0])) != 0;
    };
    const auto is_name = [&](std::size_t at) {
      return is_word(tokens[at][0]) && !is_number(at) && !is_after_dot(at);
    };
    const auto is_plus = [&](std::size_t at) { return tokens[at] == "]"; };
    const auto is_end = [&](std::size_t at) { return tokens[at] == ";"; };
    const auto replace = [&](std::size_t at, std::string with) {
      if (at < tokens.size()) tokens[at] = std::move(with);
    };
    switch (pick(10)) {
    case 0:
    case 1:
      return replace(place_of(tokens, is_number), number());
    case 2:
      return replace(place_of(tokens, [&](std::size_t at) { return is_one_of(at, types); }),
                     types[pick(std::size(types))]);
    case 3:
      return replace(place_of(tokens, [&](std::size_t at) { return is_one_of(at, spaces); }),
                     spaces[pick(std::size(spaces))]);
    case 4: { // an operand or a label for another one
      const std::size_t other = place_of(tokens, is_name);
      if (other < tokens.size()) replace(place_of(tokens, is_name), tokens[other]);
      return;
    }
    case 5:
      return replace(place_of(tokens, is_plus), "+" + number() + "]");
    case 6:
      return replace(place_of(tokens, is_name), opcodes_[pick(opcodes_.size())]);
    case 7: { // a statement goes, or comes twice
      const std::size_t first = place_of(tokens, is_end);
      if (first >= tokens.size()) return;
      const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = std::find(begin + 1, tokens.end(), ";");
      const std::vector<std::string> statement(begin, end);
      if (pick(2) == 0)
        tokens.erase(begin, end);
      else
        tokens.insert(begin, statement.begin(), statement.end());
      return;
    }
    case 8: // an operand for a number
      return replace(place_of(tokens, is_name), number());
    default: { // a modifier goes
      const std::size_t at = place_of(tokens, is_after_dot);
      if (at < tokens.size()) tokens[at - 1].clear(), tokens[at].clear();
    }
    }
  }

  std::vector<std::string> texts_, opcodes_;
  std::mt19937_64 random_;
};

struct Counts {
  std::uint64_t refused = 0, stopped = 0, ended = 0;
};

// Runs every kernel of a program on little memory. `chance` decides what its parameters are.
void run(const std::string& text, Mutator& chance, Counts& counts) {
  machine::AddressSpace memory(1 << 26);
  std::unique_ptr<machine::Program> program;
  try {
    program = std::make_unique<machine::Program>(ptx::parse(text), memory);
  } catch (const std::exception&) {
    ++counts.refused;
    return;
  }
  constexpr std::size_t bytes = 1 << 16;
  const auto own =
      reinterpret_cast<std::uint64_t>(memory.allocate(bytes, machine::MemoryKind::device, "memory"));
  std::memset(reinterpret_cast<void*>(own), 0, bytes);
  for (const ptx::Function& function : program->module().functions) {
    if (!function.is_entry || !function.has_body) continue;
    machine::Kernel& kernel = *program->kernel(function.name);
    if (kernel.attributes().static_shared > machine::Limits::shared_per_block) { // as every launch of it is
      ++counts.refused;
      continue;
    }
    std::vector<std::byte> parameters(kernel.parameter_bytes());
    for (std::size_t at = 0; at + sizeof own <= parameters.size(); at += sizeof own)
      std::memcpy(parameters.data() + at, &own, sizeof own);
    machine::LaunchShape shape{.grid = {2, 1, 1}, .block = {chance.pick(2) == 0 ? 32u : 48u, 1, 1}};
    analysis::Recorder recorder;
    analysis::Checker checker(memory, recorder);
    machine::LaunchOptions options{.workers = 1, .step_limit = 1 << 12, .schedule = {}};
    options.time_limit = std::chrono::seconds(2);
    options.print_limit = 1;
    if (chance.pick(2) == 0) options.watcher = &checker;
    try {
      const machine::LaunchRecord record = machine::launch(kernel, shape, parameters, options);
      ++(record.fault ? counts.stopped : counts.ended);
    } catch (const std::exception&) {
      ++counts.refused;
    }
  }
}

} // namespace

int main(int count, char** words) try {
  const std::uint64_t wanted = count > 1 ? std::strtoull(words[1], nullptr, 10) : 20000;
  const std::uint64_t seed = count > 2 ? std::strtoull(words[2], nullptr, 10) : 20261122;
  Mutator mutator(seed);
  Counts counts;
  std::uint64_t rounds = 0;
  for (; rounds < wanted; ++rounds) {
    const std::string text = mutator.next();
    std::ofstream("programs_fuzz.ptx") << text;
    alarm(60); // one that does not end is kept as well
    run(text, mutator, counts);
  }
  fmt::print("{} programs: {} refused, {} stopped, {} ended\n", rounds, counts.refused, counts.stopped,
             counts.ended);
  // All three must happen; otherwise the damage is too slight or too severe.
  return counts.refused && counts.stopped && counts.ended ? 0 : 1;
} catch (const std::exception& error) {
  std::fputs(error.what(), stderr);
  return 1;
}
