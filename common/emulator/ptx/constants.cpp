// Numbers and constant expressions (PTX ISA 4.5): 64-bit integers, which are signed unless a U suffix or a
// cast says otherwise, and floating-point literals, which may have a sign but no operators.
#include "ptx/parser.hpp"

#include <array>
#include <bit>
#include <charconv>

namespace warpfold::ptx {
namespace {

std::optional<std::uint64_t> parse_bits(std::string_view digits, int base) {
  std::uint64_t bits = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, bits, base);
  if (error != std::errc{} || stop != end || digits.empty()) return std::nullopt;
  return bits;
}

constexpr unsigned deepest_expression = 64;

struct Operator {
  std::string_view text;
  int precedence;
};
// Longer ones first, so that "<<" is not read as "<".
constexpr std::array<Operator, 18> operators{{
    {"||", 1},
    {"&&", 2},
    {"==", 6},
    {"!=", 6},
    {"<=", 7},
    {">=", 7},
    {"<<", 8},
    {">>", 8},
    {"|", 3},
    {"^", 4},
    {"&", 5},
    {"<", 7},
    {">", 7},
    {"+", 9},
    {"-", 9},
    {"*", 10},
    {"/", 10},
    {"%", 10},
}};

std::int64_t as_signed(std::uint64_t bits) {
  return static_cast<std::int64_t>(bits);
}

// Division is signed: nvcc writes no unsigned division that would give another result.
std::uint64_t divide(std::uint64_t left, std::uint64_t right, bool remainder) {
  if (as_signed(right) == -1) return remainder ? 0 : 0 - left;
  const std::int64_t value =
      remainder ? as_signed(left) % as_signed(right) : as_signed(left) / as_signed(right);
  return static_cast<std::uint64_t>(value);
}

std::uint64_t apply(std::string_view op, std::uint64_t left, std::uint64_t right) {
  if (op == "||") return left != 0 || right != 0;
  if (op == "&&") return left != 0 && right != 0;
  if (op == "==") return left == right;
  if (op == "!=") return left != right;
  if (op == "<=") return as_signed(left) <= as_signed(right);
  if (op == ">=") return as_signed(left) >= as_signed(right);
  if (op == "<") return as_signed(left) < as_signed(right);
  if (op == ">") return as_signed(left) > as_signed(right);
  if (op == "<<") return right < 64 ? left << right : 0;
  if (op == ">>") return static_cast<std::uint64_t>(as_signed(left) >> (right < 64 ? right : 63));
  if (op == "|") return left | right;
  if (op == "^") return left ^ right;
  if (op == "&") return left & right;
  if (op == "+") return left + right;
  if (op == "-") return left - right;
  if (op == "*") return left * right;
  return divide(left, right, op == "%");
}

} // namespace

std::optional<Immediate> number_from(std::string_view text) {
  using Kind = Immediate::Kind;
  const auto integer = [](std::string_view digits, int base) -> std::optional<Immediate> {
    if (digits.ends_with('U')) digits.remove_suffix(1);
    const auto bits = parse_bits(digits, base);
    return bits ? std::optional(Immediate{Kind::integer, *bits}) : std::nullopt;
  };
  if (text.empty()) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') {
    const std::string_view rest = text.substr(2);
    switch (text[1]) {
    case 'x':
    case 'X':
      return integer(rest, 16);
    case 'b':
    case 'B':
      return integer(rest, 2);
    case 'f':
    case 'F':
    case 'd':
    case 'D': {
      const bool single = text[1] == 'f' || text[1] == 'F';
      const auto bits = rest.size() == (single ? 8 : 16) ? parse_bits(rest, 16) : std::nullopt;
      return bits ? std::optional(Immediate{single ? Kind::single : Kind::real, *bits}) : std::nullopt;
    }
    default:
      break;
    }
  }
  if (text.find_first_of(".eE") != text.npos) {
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return Immediate{Kind::real, std::bit_cast<std::uint64_t>(value)};
  }
  const bool octal = text.size() > 1 && text[0] == '0' && text[1] != 'U';
  return integer(octal ? text.substr(1) : text, octal ? 8 : 10);
}

std::uint64_t Parser::integer(std::string_view what, std::uint64_t least, std::uint64_t most) {
  const auto number = token().kind == Token::Kind::number ? number_from(token().text) : std::nullopt;
  if (!number || number->kind != Immediate::Kind::integer) expected(what);
  if (number->bits < least || number->bits > most) {
    expected(std::string(what) +
             (least == most ? "" : ", from " + std::to_string(least) + " to " + std::to_string(most)));
  }
  lexer_.advance();
  return number->bits;
}

Immediate Parser::constant() {
  depth_ = 0;
  return constant_ternary();
}

Immediate Parser::constant_factor() {
  constexpr int multiplication = 10;
  depth_ = 0;
  return constant_binary(multiplication);
}

Immediate Parser::constant_ternary() {
  const Immediate condition = constant_binary(1);
  if (!token().is('?')) return condition;
  lexer_.advance();
  if (++depth_ > deepest_expression) fail("a constant expression is nested too deeply");
  const Immediate yes = constant_ternary();
  expect(':', "between the two values of '?'");
  const Immediate no = constant_ternary();
  --depth_;
  return condition.bits != 0 ? yes : no;
}

// The operator at the current token, taken only if it binds at least this tightly, else empty. One-character
// tokens form longer operators if nothing is between them.
std::string_view Parser::take_operator(int least_precedence, int& precedence) {
  if (token().kind != Token::Kind::punctuation || token().is(',') || token().is(';')) return {};
  const std::string_view two(token().text.data(), 2); // the text ends with a NUL, so there are two
  for (const Operator& candidate : operators) {
    if (!two.starts_with(candidate.text)) continue;
    if (candidate.precedence < least_precedence) return {};
    precedence = candidate.precedence;
    for (std::size_t taken = 0; taken < candidate.text.size(); ++taken) lexer_.advance();
    return candidate.text;
  }
  return {};
}

Immediate Parser::constant_binary(int least_precedence) {
  Immediate left = constant_unary();
  int precedence = 0;
  while (true) {
    const std::string_view op = take_operator(least_precedence, precedence);
    if (op.empty()) return left;
    const Immediate right = constant_binary(precedence + 1);
    if (left.kind != Immediate::Kind::integer || right.kind != Immediate::Kind::integer) {
      fail("arithmetic on floating-point constants is not supported");
    }
    if ((op == "/" || op == "%") && right.bits == 0) fail("a constant expression divides by zero");
    left.bits = apply(op, left.bits, right.bits);
  }
}

Immediate Parser::constant_unary() {
  if (++depth_ > deepest_expression) fail("a constant expression is nested too deeply");
  Immediate value;
  if (accept('(')) {
    if (accept_word(".s64") || accept_word(".u64")) {
      expect(')', "after the type of a cast");
      value = constant_unary();
    } else {
      value = constant_ternary();
      expect(')', "to close the expression");
    }
  } else if (accept('-')) {
    value = constant_unary();
    switch (value.kind) {
    case Immediate::Kind::integer:
      value.bits = 0 - value.bits;
      break;
    case Immediate::Kind::single:
      value.bits ^= 0x8000'0000;
      break;
    case Immediate::Kind::real:
      value.bits ^= std::uint64_t{1} << 63;
      break;
    }
  } else if (accept('+')) {
    value = constant_unary();
  } else if (accept('~')) {
    value = constant_unary();
    value.bits = ~value.bits;
  } else if (accept('!')) {
    value = constant_unary();
    value.bits = value.bits == 0;
  } else if (accept_word("WARP_SZ")) {
    value.bits = 32;
  } else {
    const auto number = token().kind == Token::Kind::number ? number_from(token().text) : std::nullopt;
    if (!number) expected("a constant");
    value = *number;
    lexer_.advance();
  }
  --depth_;
  return value;
}

} // namespace warpfold::ptx
