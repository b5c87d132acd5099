#include "report/terminal.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace lab {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool shows_colours() {
  if (!variable("NO_COLOR").empty() || variable("TERM") == "dumb") return false;
  const std::string_view forced = variable("CLICOLOR_FORCE");
  return (!forced.empty() && forced != "0") || isatty(STDOUT_FILENO);
}

// ANSI's number of a colour that states.def names.
int number_of(std::string_view colour) {
  constexpr std::pair<std::string_view, int> numbers[] = {
      {"red", 31}, {"green", 32}, {"yellow", 33}, {"grey", 90}};
  for (const auto& [name, number] : numbers)
    if (name == colour) return number;
  return 0;
}

int colour_of(State state) {
  return number_of(states[static_cast<int>(state)].colour);
}

} // namespace

unsigned terminal_width() {
  const std::string_view columns = variable("COLUMNS");
  unsigned width = 0;
  std::from_chars(columns.data(), columns.data() + columns.size(), width);
  if (width > 0) return width;
  winsize size{};
  return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string wrapped(std::string_view text, unsigned width, std::string_view first, std::string_view rest) {
  std::string out(first);
  if (width == 0) return out.append(text);
  std::size_t line = first.size();
  bool begun = false; // a word stands on this line
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (begun && line + 1 + word.size() > width) {
      while (out.back() == ' ') out.pop_back();
      out.append("\n").append(rest);
      line = rest.size(), begun = false;
    }
    if (begun) out += ' ', ++line;
    out.append(word);
    line += word.size(), begun = true;
  }
  return out;
}

std::string painted(State state, unsigned width) {
  const std::string text = fmt::format("{:<{}}", name_of(state), width);
  return shows_colours() ? fmt::format("\033[{}m{}\033[0m", colour_of(state), text) : text;
}

} // namespace lab
