// Damaged inputs: whatever the damage, parsing ends, either with a module or with a ParseError.
#include "cases.hpp"
#include "dump.hpp"

#include "ptx/module.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace {

using namespace warpfold;

class Mutator {
public:
  Mutator(std::vector<std::string> texts, unsigned seed) : texts_(std::move(texts)), random_(seed) {}

  std::string next() {
    std::string text = texts_[pick(texts_.size())];
    for (std::size_t change = 0, changes = 1 + pick(4); change < changes; ++change) damage(text);
    return text;
  }

private:
  std::size_t pick(std::size_t below) { return below == 0 ? 0 : random_() % below; }

  std::string_view piece(const std::string& text) {
    const std::size_t begin = pick(text.size());
    return std::string_view(text).substr(begin, 1 + pick(80));
  }

  void damage(std::string& text) {
    constexpr std::string_view telling[] = {"{",
                                            "}",
                                            "(",
                                            ")",
                                            "[",
                                            "]",
                                            ",",
                                            ";",
                                            ":",
                                            "<",
                                            ">",
                                            "|",
                                            "%",
                                            ".",
                                            "-",
                                            "4294967295",
                                            "18446744073709551615",
                                            "0x",
                                            "0f",
                                            "\"",
                                            "/*",
                                            "//",
                                            "\n",
                                            ".reg .b32 %r<4000000000>;",
                                            ".align 3",
                                            "[99999999999]",
                                            "_",
                                            "!",
                                            "@"};
    const std::size_t at = pick(text.size());
    switch (pick(7)) {
    case 0:
      text[at] = static_cast<char>(random_());
      break;
    case 1:
      text.resize(at + 1);
      break;
    case 2:
      text.erase(at, 1 + pick(40));
      break;
    case 3:
      text.insert(at, telling[pick(std::size(telling))]);
      break;
    case 4:
      text.insert(at, piece(texts_[pick(texts_.size())]));
      break;
    case 5:
      text.insert(at, std::string(piece(text)));
      break;
    default: {
      const std::string_view word = telling[pick(std::size(telling))];
      text.replace(at, std::min(word.size(), text.size() - at), word);
    }
    }
  }

  std::vector<std::string> texts_;
  std::mt19937 random_;
};

TEST(Fuzz, DamagedTextsAreParsedOrRefused) {
  std::vector<std::string> texts;
  for (const auto& path : inputs::cases(".ptx")) {
    if (path.parent_path().filename() != "malformed") texts.push_back(inputs::read_file(path));
  }
  Mutator mutator(std::move(texts), 20261120);
  int parsed = 0, refused = 0;
  for (int round = 0; round < 40000; ++round) {
    const std::string result = ptx::dump_or_error(mutator.next()); // the dump follows every index
    ++(result.starts_with("error: PTX, line ") ? refused : parsed);
  }
  // Both must happen; otherwise the damage is too slight or too severe for a meaningful test.
  EXPECT_GT(parsed, 1000);
  EXPECT_GT(refused, 1000);
}

std::string repeated(std::string_view piece, std::size_t times) {
  std::string all;
  for (std::size_t time = 0; time < times; ++time) all += piece;
  return all;
}

// Nesting and multiplication: short texts that demand much memory or time.
TEST(Fuzz, ExcessIsRefused) {
  const std::string head = ".version 8.0\n.target sm_75\n",
                    body = head + ".entry k() { .reg .b32 r; .reg .pred p;\n";
  constexpr std::size_t many = 100000;
  const std::string texts[] = {
      body + repeated("{", many),
      body + "mov.u32 r, " + repeated("(", many) + "1;",
      body + "mov.u32 r, " + repeated("-", many) + "1;",
      body + "mov.u32 r, " + repeated("1?1:", many) + "1;",
      body + "mov.b64 " + repeated("{", many),
      body + "ld.global.u32 r, " + repeated("[", many),
      head + ".global .u8 x[2] = " + repeated("{", many),
      head + ".global .u8 x" + repeated("[1024]", many) + ";",
      body + repeated(".reg .b32 %a<1000000>;", 10),
      body + repeated("{ .reg .b32 %a<500000>; }", 3),
      head + repeated("/*", many),
  };
  for (const std::string& text : texts) EXPECT_THROW(ptx::parse(text), ptx::ParseError) << text.substr(0, 80);
  EXPECT_NO_THROW(ptx::parse(body + repeated("{", 100) + repeated("}", 100) + "}"));
}

} // namespace
