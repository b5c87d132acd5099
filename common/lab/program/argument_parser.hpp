// The options of a program's command line: --flag, --option VALUE and --option=VALUE. It needs no library, so
// that a lab can be built with nothing but a compiler.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lab {

// A command line that cannot be carried out; the message says what would work.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ArgumentParser {
public:
  explicit ArgumentParser(std::string purpose) : purpose_(std::move(purpose)) {}

  // The help lists an option as `--name VALUE` if its value has a name, and omits an option without a text.
  void flag(std::string_view name, bool& into, std::string_view text);
  void value(std::string_view name, std::string_view of, std::optional<std::string>& into,
             std::string_view text);
  void values(std::string_view name, std::string_view of, std::vector<std::string>& into,
              std::string_view text);

  // False if help was asked for, with -h or --help. Throws UsageError for an unknown option, a missing value,
  // a value for a flag, and an option that is given twice.
  bool parse(int argc, char** argv) const;
  std::string help(std::string_view program) const;

private:
  struct Option {
    std::string_view name, of, text;
    bool* flag = nullptr;
    std::optional<std::string>* one = nullptr;
    std::vector<std::string>* many = nullptr;
  };
  const Option& named(std::string_view name) const;
  std::string purpose_;
  std::vector<Option> options_;
};

} // namespace lab
