#include "program/argument_parser.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lab {
namespace {

constexpr std::string_view advice = "--help lists the options";

UsageError usage(std::string_view what) {
  return UsageError(fmt::format("{}; {}", what, advice));
}

} // namespace

void ArgumentParser::flag(std::string_view name, bool& into, std::string_view text) {
  options_.push_back({.name = name, .of = "", .text = text, .flag = &into});
}

void ArgumentParser::value(std::string_view name, std::string_view of, std::optional<std::string>& into,
                           std::string_view text) {
  options_.push_back({.name = name, .of = of, .text = text, .one = &into});
}

void ArgumentParser::values(std::string_view name, std::string_view of, std::vector<std::string>& into,
                            std::string_view text) {
  options_.push_back({.name = name, .of = of, .text = text, .many = &into});
}

const ArgumentParser::Option& ArgumentParser::named(std::string_view name) const {
  const auto found = std::find_if(options_.begin(), options_.end(),
                                  [=](const Option& option) { return option.name == name; });
  if (found == options_.end()) throw usage(fmt::format("{} is not an option of this program", name));
  return *found;
}

bool ArgumentParser::parse(int argc, char** argv) const {
  for (int at = 1; at < argc; ++at) {
    const std::string_view word = argv[at];
    if (word == "-h" || word == "--help") return false;
    const auto equals = word.find('=');
    const bool joined = word.starts_with("--") && equals != word.npos;
    const std::string_view name = joined ? word.substr(0, equals) : word;
    const Option& option = named(name);
    if (option.flag) {
      if (joined) throw usage(fmt::format("{} takes no value", name));
      *option.flag = true;
      continue;
    }
    if (!joined && at + 1 == argc) throw usage(fmt::format("{} needs a value", name));
    const std::string text(joined ? word.substr(equals + 1) : std::string_view(argv[++at]));
    if (option.many) {
      option.many->push_back(text);
    } else if (option.one->has_value()) {
      throw usage(fmt::format("{} is given twice", name));
    } else {
      *option.one = text;
    }
  }
  return true;
}

std::string ArgumentParser::help(std::string_view program) const {
  std::string text = fmt::format("{}\nUsage: {} [OPTIONS]\n\nOptions:\n", purpose_, program);
  const auto add = [&](std::string_view option, std::string_view what) {
    text += fmt::format("  {:<24}  {}\n", option, what);
  };
  add("-h, --help", "Print this help and exit");
  for (const Option& option : options_) {
    if (option.text.empty()) continue;
    add(option.of.empty() ? std::string(option.name) : fmt::format("{} {}", option.name, option.of),
        option.text);
  }
  return text;
}

} // namespace lab
