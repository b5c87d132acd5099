#include "options.hpp"

#include "failures.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>

namespace warpfold::opencl {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false; // a word
  char quote = 0;
  for (const char c : text) {
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (c == quote)
      quote = 0;
    else if (quote == 0 && c == '"')
      quote = c;
    else
      words.back() += c;
  }
  return words;
}

constexpr std::array mathematics{"-cl-single-precision-constant",
                                 "-cl-denorms-are-zero",
                                 "-cl-fp32-correctly-rounded-divide-sqrt",
                                 "-cl-mad-enable",
                                 "-cl-no-signed-zeros",
                                 "-cl-unsafe-math-optimizations",
                                 "-cl-finite-math-only",
                                 "-cl-fast-relaxed-math"};
constexpr std::array others{"-cl-opt-disable",
                            "-cl-strict-aliasing",
                            "-cl-std=CL1.0",
                            "-cl-std=CL1.1",
                            "-cl-std=CL1.2",
                            "-cl-kernel-arg-info",
                            "-w",
                            "-Werror",
                            "-g"};
// Of libraries: all parts of a program are linked as a whole.
constexpr std::array of_libraries{"-create-library", "-enable-link-options"};

template <typename List>
bool is_in(const List& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

} // namespace

std::vector<std::string> parse_options(const char* options, int error) {
  std::vector<std::string> result;
  const std::vector<std::string> words = words_of(options ? options : "");
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (*word == "-D" || *word == "-I") {
      require(word + 1 != words.end(), error, "-D and -I need a name");
      result.push_back(*word + *(word + 1));
      ++word;
    } else if (word->starts_with("-D") || word->starts_with("-I") || word->starts_with("-W") ||
               is_in(mathematics, *word) || is_in(others, *word)) {
      result.push_back(*word);
    } else if (!is_in(of_libraries, *word)) {
      throw Refusal(error, fmt::format("the option {} is not one of OpenCL 1.2", *word));
    }
  }
  // Lines are always kept, and with Clang's -g would cost what is optimised; -cl-std=CL1.0 has another name
  // there.
  std::erase(result, "-g");
  std::erase(result, "-cl-strict-aliasing");  // of OpenCL 1.0, and of no effect
  std::erase(result, "-cl-denorms-are-zero"); // of no effect, of which Clang warns
  std::replace(result.begin(), result.end(), std::string("-cl-std=CL1.0"), std::string("-cl-std=CL"));
  return result;
}

std::vector<std::string> options_of_linking(const std::vector<std::string>& options) {
  std::vector<std::string> result;
  std::copy_if(options.begin(), options.end(), std::back_inserter(result),
               [](const std::string& word) { return is_in(mathematics, word) || word == "-cl-opt-disable"; });
  return result;
}

} // namespace warpfold::opencl
