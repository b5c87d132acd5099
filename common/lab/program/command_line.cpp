#include "program/command_line.hpp"

#include "report/result.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <sstream>
#include <unistd.h>

namespace lab {
namespace {

template <class Integer>
std::optional<Integer> whole_number(std::string_view text) {
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

unsigned parse_block(std::string_view text) {
  const auto block = whole_number<unsigned>(text);
  if (!block || *block < 32 || *block > 1024 || (*block & (*block - 1)) != 0) {
    throw UsageError(
        fmt::format("--block {}: the number of threads per block is a power of two from 32 to 1024", text));
  }
  return *block;
}

int parse_descriptor(std::string_view option, std::string_view text) {
  const auto value = whole_number<int>(text);
  if (!value) throw UsageError(fmt::format("{} {}: this is not a file descriptor", option, text));
  return *value;
}

const Rung& find_rung(std::span<const Rung> rungs, std::string_view lab, std::string_view name) {
  std::string names;
  for (const Rung& rung : rungs) {
    if (name == rung.name) return rung;
    names += fmt::format("\n  {}", rung.name);
  }
  throw UsageError(fmt::format("lab {} has no rung '{}'. Its rungs are:{}", lab, name, names));
}

void check_against_rungs(const Options& options, std::string_view lab, std::span<const Rung> rungs) {
  std::vector<const Rung*> chosen;
  for (const std::string& name : options.rungs) chosen.push_back(&find_rung(rungs, lab, name));
  // With all rungs, those that do not take this n or block are skipped, with the reason.
  for (const Rung* rung : chosen) {
    const unsigned block = block_for(*rung, options);
    if (block < rung->min_block || block > rung->max_block) {
      throw UsageError(fmt::format("--block {}: rung {} takes {} threads per block", block, rung->name,
                                   rung->block_sizes_in_words()));
    }
    if (const std::size_t most = rung->most_elements(block); options.n && *options.n > most) {
      throw UsageError(fmt::format("--n {}: rung {} takes up to {} elements with {} threads per block",
                                   *options.n, rung->name, most, block));
    }
  }
}

bool has_rows(std::span<const Rung> rungs) {
  return std::any_of(rungs.begin(), rungs.end(),
                     [](const Rung& rung) { return rung.variant_count > 0 && rung.variants[0].by_rows; });
}

// Whether the lab has rungs over several devices.
bool has_devices(std::span<const Rung> rungs) {
  return std::any_of(rungs.begin(), rungs.end(), [](const Rung& rung) {
    return rung.variant_count > 0 && rung.variants[0].over_devices;
  });
}

bool is_in_opencl(std::span<const Rung> rungs) {
  return std::any_of(rungs.begin(), rungs.end(),
                     [](const Rung& rung) { return rung.variant_count > 0 && rung.variants[0].in_opencl; });
}

unsigned parse_devices(std::string_view text) {
  constexpr unsigned most = 16;
  const auto count = whole_number<unsigned>(text);
  if (!count || *count == 0 || *count > most)
    throw UsageError(fmt::format("--devices {}: give a number of devices from 1 to {}", text, most));
  return *count;
}

void check_rows(const Options& options) {
  if (*options.rows == 0) throw UsageError("--rows 0: a matrix needs at least one row");
  if (!options.n)
    throw UsageError(fmt::format("--rows {}: give the number of elements as well, --n N", *options.rows));
  if (*options.rows > *options.n) {
    throw UsageError(fmt::format("--rows {}: there are only {} elements", *options.rows, *options.n));
  }
}

} // namespace

std::size_t parse_count(std::string_view option, std::string_view text) {
  const auto fail = [option, text](std::string_view why) {
    return UsageError(fmt::format("{} {}: {}; give a whole number such as 1000 or 2^20", option, text, why));
  };
  if (text.starts_with('-')) throw fail("this cannot be negative");
  const auto caret = text.find('^');
  const auto base = whole_number<std::size_t>(text.substr(0, caret));
  if (!base) throw fail("this is not a number");
  if (caret == text.npos) return *base;
  const auto exponent = whole_number<unsigned>(text.substr(caret + 1));
  if (!exponent) throw fail("this is not a number");
  std::size_t value = 1;
  for (unsigned i = 0; i < *exponent; ++i) {
    if (__builtin_mul_overflow(value, *base, &value)) throw fail("this number is too large");
    if (value <= 1) break;
  }
  return value;
}

// All that can be read from a descriptor.
static std::string read_all(int descriptor) {
  std::string text;
  char piece[1024];
  for (ssize_t got = 0; (got = read(descriptor, piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<std::size_t>(got));
  close(descriptor);
  return text;
}

std::optional<Options> parse_command_line(int argc, char** argv, std::string_view lab,
                                          std::span<const Rung> rungs) {
  Options options;
  std::optional<std::string> n, rows, block, devices, device, seed, time_limit, host, hidden, answer, source,
      device_code;
  std::vector<std::string> more;
  ArgumentParser parser(fmt::format("Lab {}: checks its rungs and says what is wrong.", lab));
  parser.flag("--list", options.list, "List the rungs and the next TODO of each; run nothing");
  parser.values("--rung", "R", options.rungs, "Only this rung (may be repeated)");
  parser.value("--n", "N", n, "Number of elements: 1000, 2^20");
  if (has_rows(rungs))
    parser.value("--rows", "R", rows, "Rows of the matrix of N elements (default: about as many as columns)");
  parser.value("--block", "B", block, "Threads per block: 32, 64, ... 1024 (default: 256)");
  if (has_devices(rungs))
    parser.value("--devices", "K", devices,
                 "How many devices to use (default: all GPUs; the emulator makes 4)");
  parser.value("--device", "D", device, "auto, gpu, emulator or, in OpenCL, cpu (default: auto)");
  parser.value("--seed", "S", seed,
               "Seed of the inputs: another one gives other inputs of the same kind (default: 1)");
  parser.value("--time-limit", "S", time_limit, "Seconds after which a run counts as endless (default: 10)");
  parser.flag("--time", options.time, "Time the rungs (GPU only)");
  parser.flag("--profile", options.profile, "Count what the rungs do, line by line (emulator only)");
  parser.flag("--once", options.once,
              "Run one rung on 1, 2, ... 9, check nothing; print JSON (emulator only)");
  parser.flag("--tree", options.tree, "With --once: how the result was made, step by step");
  parser.flag("--json", options.json, "Print JSON, for other programs");
  parser.flag("--tap", options.tap, "Print TAP, for meson test");
  parser.flag("--solutions", options.solutions, "Count a TODO as a failure");
  parser.values("--more", "N[:B]", more,
                "Also check N elements, with B threads per block: 5000, 5000:64 (may be repeated)");
  // For a class's grader; students have no use for these.
  parser.value("--host", "", host, "");
  parser.value("--hidden", "", hidden, "");
  parser.value("--answer", "", answer, "");
  parser.value("--source", "", source, "");
  parser.value("--device-code", "", device_code, "");
  if (is_in_opencl(rungs)) parser.flag("--compile-only", options.compile_only, "");
  if (!parser.parse(argc, argv)) {
    fmt::print("{}\nRungs:\n", parser.help(argv[0]));
    for (const Rung& rung : rungs) fmt::print("  {}\n", rung.name);
    fmt::print("\nStates of a rung:\n");
    for (const StateRow& row : states) fmt::print("  {:<14} {}\n", row.name, row.sentence);
    return std::nullopt;
  }
  if (host) options.host = parse_descriptor("--host", *host);
  if (hidden) { // the seed, and then sizes: all users of a machine see its command lines
    std::istringstream words(read_all(parse_descriptor("--hidden", *hidden)));
    std::string word;
    if (words >> word) seed = word;
    while (words >> word) more.push_back(word);
  }
  if (answer) options.answer = parse_descriptor("--answer", *answer);
  options.source = source.value_or("");
  options.device_code = device_code.value_or("");
  if (n) options.n = parse_count("--n", *n);
  if (rows) options.rows = parse_count("--rows", *rows);
  if (block) options.block = parse_block(*block);
  if (has_devices(rungs)) options.devices.reset();
  if (devices) options.devices = parse_devices(*devices);
  const std::map<std::string, Choice, std::less<>> choices{{"auto", Choice::automatic},
                                                           {"gpu", Choice::gpu},
                                                           {"emulator", Choice::emulator},
                                                           {"cpu", Choice::cpu}};
  const auto choice = choices.find(device.value_or("auto"));
  if (choice == choices.end() || (choice->second == Choice::cpu && !is_in_opencl(rungs)))
    throw UsageError(fmt::format("--device {}: the devices are auto, gpu{}", *device,
                                 is_in_opencl(rungs) ? ", emulator and cpu" : " and emulator"));
  options.device = choice->second;
  if (seed) {
    const auto value = whole_number<std::uint64_t>(*seed);
    if (!value) throw UsageError(fmt::format("--seed {}: give a whole number, 0 or more", *seed));
    options.seed = *value;
  }
  if (time_limit) {
    double seconds = 0;
    const auto [end, error] =
        std::from_chars(time_limit->data(), time_limit->data() + time_limit->size(), seconds);
    if (error != std::errc() || end != time_limit->data() + time_limit->size() || !(seconds > 0))
      throw UsageError(fmt::format("--time-limit {}: give a number of seconds greater than 0", *time_limit));
    options.time_limit = seconds;
  }
  for (const std::string& text : more) {
    const auto colon = text.find(':');
    MoreSize& size = options.more.emplace_back();
    size.n = parse_count("--more", text.substr(0, colon));
    if (colon != text.npos) size.block = parse_block(text.substr(colon + 1));
  }
  const bool with_host = options.host && !options.device_code.empty();
  if (options.grading() && (options.source.empty() || with_host == is_in_opencl(rungs)))
    throw UsageError(
        "--answer and --source, and except in OpenCL --host and --device-code, must be given together");
  if (!options.grading() && with_host)
    throw UsageError("--host and --device-code are for graders, who also give --answer and --source");
  if (options.json && options.tap) throw UsageError("--json and --tap exclude each other");
  if (options.rows) check_rows(options);
  check_against_rungs(options, lab, rungs);
  return options;
}

} // namespace lab
