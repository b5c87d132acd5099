// Splits PTX text into tokens (PTX ISA 4.1 to 4.5). Tokens are views into the text, which must end in a NUL
// that is not part of it, as a std::string's does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace warpfold::ptx {

struct Token {
  enum class Kind : std::uint8_t {
    end,
    word,        // a name, with everything attached by dots: "%r1", "$L__BB0_2", "ld.global.v4.f32", "%tid.x"
    directive,   // ".reg", ".global": the text keeps its dot
    number,      // as written: "12", "0x1F", "0f3F800000", "1.5e-3", "7U"
    string,      // without its quotes
    punctuation, // one character
  };
  Kind kind = Kind::end;
  std::string_view text;
  std::uint32_t line = 1;
  bool is(char character) const { return kind == Kind::punctuation && text[0] == character; }
  bool is(std::string_view wanted) const { return kind != Kind::string && text == wanted; }
};

class Lexer {
public:
  explicit Lexer(const std::string& text);

  const Token& current() const { return token_; }
  void advance();
  // Whether the current token is followed by a colon on its line: a label.
  bool colon_follows() const;
  // The current token is `{`: skips everything up to and including the `}` that closes it.
  void skip_braces();

private:
  void skip_blank();
  void word();
  void number();
  void string();

  const char* position_;
  const char* end_;
  std::uint32_t line_ = 1;
  Token token_;
};

// A token as an error message shows it: shortened, quoted, "the end of the text" if there is none.
std::string describe(const Token& token);

} // namespace warpfold::ptx
