#include "reporting/terminal.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

// Red: to mend. Yellow: to do, or right in another way than asked for. Green: done.
int colour_of(State state) {
  switch (state) {
  case State::wrong:
  case State::hazard:
    return 31;
  case State::todo:
  case State::off_technique:
  case State::slow:
    return 33;
  case State::pass:
    return 32;
  case State::skip:
    return 90;
  }
  return 0;
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
