#include "ptx/lexer.hpp"

#include "ptx/module.hpp"

#include <array>
#include <cstring>

namespace warpfold::ptx {
namespace {

enum : std::uint8_t { letter = 1, digit = 2, blank = 4 }; // letter: may begin a name

constexpr std::array<std::uint8_t, 256> classes = [] {
  std::array<std::uint8_t, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = letter;
  table['_'] = table['$'] = table['%'] = letter;
  for (int c = '0'; c <= '9'; ++c) table[c] = digit;
  table[' '] = table['\t'] = table['\r'] = table['\f'] = table['\v'] = blank;
  return table;
}();

std::uint8_t class_of(char character) {
  return classes[static_cast<unsigned char>(character)];
}
bool in_word(char character) {
  return (class_of(character) & (letter | digit)) != 0 && character != '%';
}

} // namespace

Lexer::Lexer(const std::string& text) : position_(text.c_str()), end_(position_ + text.size()) {
  advance();
}

void Lexer::skip_blank() {
  for (;; ++position_) {
    while (class_of(*position_) == blank) ++position_;
    if (*position_ == '\n') {
      ++line_;
    } else if (position_[0] == '/' && position_[1] == '/') {
      const void* newline = std::memchr(position_, '\n', static_cast<std::size_t>(end_ - position_));
      if (newline == nullptr) {
        position_ = end_;
        return;
      }
      position_ = static_cast<const char*>(newline);
      ++line_;
    } else if (position_[0] == '/' && position_[1] == '*') {
      const std::uint32_t begin = line_;
      position_ += 2;
      while (position_ < end_ && !(position_[0] == '*' && position_[1] == '/')) {
        if (*position_++ == '\n') ++line_;
      }
      if (position_ >= end_) throw ParseError(begin, "a comment begins here and is never closed");
      ++position_;
    } else {
      return;
    }
  }
}

void Lexer::advance() {
  skip_blank();
  token_.line = line_;
  if (position_ >= end_) {
    token_.kind = Token::Kind::end;
    token_.text = {};
    return;
  }
  const char first = *position_;
  const std::uint8_t kind = class_of(first);
  const bool modulo = first == '%' && !in_word(position_[1]);
  if (kind == letter && !modulo) return word();
  if (kind == digit) return number();
  if (first == '"') return string();
  if (first == '.' && class_of(position_[1]) == letter) {
    const char* begin = position_++;
    while (in_word(*position_)) ++position_;
    token_.kind = Token::Kind::directive;
    token_.text = {begin, static_cast<std::size_t>(position_ - begin)};
    return;
  }
  if (std::strchr(",;:{}()[]<>|!@+-*/=~^&?%.#", first) == nullptr || first == '\0') {
    throw ParseError(line_, "a character with code " + std::to_string(static_cast<unsigned char>(first)) +
                                " has no meaning in PTX; is the text damaged?");
  }
  token_.kind = Token::Kind::punctuation;
  token_.text = {position_++, 1};
}

// A dot continues a word, and so does "::" after a dot ("ld.global.L1::no_allocate"), where it cannot belong
// to a label.
void Lexer::word() {
  const char* begin = position_++;
  bool dotted = false;
  for (;;) {
    while (in_word(*position_)) ++position_;
    if (*position_ == '.' && in_word(position_[1])) {
      dotted = true;
      ++position_;
    } else if (dotted && position_[0] == ':' && position_[1] == ':' && in_word(position_[2])) {
      position_ += 2;
    } else {
      break;
    }
  }
  token_.kind = Token::Kind::word;
  token_.text = {begin, static_cast<std::size_t>(position_ - begin)};
}

void Lexer::number() {
  const char* begin = position_;
  const bool decimal = position_[0] != '0' || std::strchr("xXfFdDbB", position_[1]) == nullptr;
  for (++position_; in_word(*position_) || *position_ == '.'; ++position_) {
    const bool exponent = decimal && (*position_ == 'e' || *position_ == 'E');
    if (exponent && (position_[1] == '-' || position_[1] == '+')) ++position_;
  }
  token_.kind = Token::Kind::number;
  token_.text = {begin, static_cast<std::size_t>(position_ - begin)};
}

void Lexer::string() {
  const char* begin = ++position_;
  while (position_ < end_ && *position_ != '"' && *position_ != '\n') {
    if (*position_ == '\\' && position_ + 1 < end_ && position_[1] != '\n') ++position_;
    ++position_;
  }
  if (position_ >= end_ || *position_ != '"')
    throw ParseError(line_, "a string begins here and is never closed");
  token_.kind = Token::Kind::string;
  token_.text = {begin, static_cast<std::size_t>(position_++ - begin)};
}

bool Lexer::colon_follows() const {
  const char* next = position_;
  while (class_of(*next) == blank) ++next;
  return *next == ':';
}

void Lexer::skip_braces() {
  const std::uint32_t begin = line_;
  for (std::uint32_t depth = 1; depth > 0; ++position_) {
    if (position_ >= end_) throw ParseError(begin, "a brace is opened here and never closed");
    if (*position_ == '\n') ++line_;
    if (*position_ == '{') ++depth;
    if (*position_ == '}') --depth;
  }
  advance();
}

std::string describe(const Token& token) {
  if (token.kind == Token::Kind::end) return "the end of the text";
  constexpr std::size_t longest = 60;
  std::string shown(token.text.substr(0, longest));
  if (token.text.size() > longest) shown += "...";
  for (char& character : shown) {
    if (static_cast<unsigned char>(character) < ' ' || static_cast<unsigned char>(character) > '~')
      character = '?';
  }
  return "'" + shown + "'";
}

} // namespace warpfold::ptx
