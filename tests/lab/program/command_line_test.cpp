#include "program/command_line.hpp"
#include "run/processes.hpp"

#include <gtest/gtest.h>

namespace lab {
namespace {

const Rung rungs[] = {Rung("small").up_to([](const Size& s) { return 2.0 * s.block; }),
                      Rung("any").block_sizes(64, 1024)};

Options parse(std::vector<const char*> words, std::span<const Rung> of = rungs) {
  words.insert(words.begin(), "lab");
  words.push_back(nullptr);
  const auto options =
      parse_command_line(static_cast<int>(words.size()) - 1, const_cast<char**>(words.data()), "02_tree", of);
  return options.value_or(Options{});
}

std::string refusal(const std::vector<const char*>& words, std::span<const Rung> of = rungs) {
  try {
    parse(words, of);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(CommandLine, Counts) {
  EXPECT_EQ(parse_count("--n", "1000"), 1000u);
  EXPECT_EQ(parse_count("--n", "2^20"), 1u << 20);
  EXPECT_EQ(parse_count("--n", "2^0"), 1u);
  EXPECT_EQ(parse_count("--n", "10^3"), 1000u);
  EXPECT_EQ(parse_count("--n", "0"), 0u);
}

TEST(CommandLine, ALargeNMayTakeLonger) {
  EXPECT_EQ(time_limit_for(parse({})), 10);
  EXPECT_EQ(time_limit_for(parse({"--n=2^10"})), 10);
  EXPECT_EQ(time_limit_for(parse({"--rung=any", "--n=2^24"})), 40);
  EXPECT_EQ(time_limit_for(parse({"--rung=any", "--n=2^24", "--time-limit=1.5"})), 1.5);
  EXPECT_NE(refusal({"--time-limit=0"}), "");
}

TEST(CommandLine, WhatIsNoCountIsRefusedWithAnExample) {
  for (const char* text :
       {"-1", "", "abc", "1.5", "1e6", "2^", "^3", "2^-1", "2^64", "99999999999999999999", " 7"}) {
    try {
      parse_count("--n", text);
      ADD_FAILURE() << text << " was taken";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("2^20"), std::string::npos);
    }
  }
  EXPECT_NE(refusal({"--n", "-3"}).find("cannot be negative"), std::string::npos);
  EXPECT_NE(refusal({"--n=-3"}).find("cannot be negative"), std::string::npos);
}

TEST(CommandLine, OptionsAreSaidInTwoWaysAndOnce) {
  EXPECT_EQ(parse({"--n=5"}).n, 5u);
  EXPECT_EQ(parse({"--rung", "any", "--rung=small"}).rungs, (std::vector<std::string>{"any", "small"}));
  EXPECT_TRUE(parse({"--json", "--json"}).json);
  EXPECT_NE(refusal({"--n", "1", "--n", "2"}).find("--n is given twice"), std::string::npos);
  EXPECT_NE(refusal({"--n"}).find("--n needs a value"), std::string::npos);
  EXPECT_NE(refusal({"--json=1"}).find("--json takes no value"), std::string::npos);
  EXPECT_NE(refusal({"--jso"}).find("--jso is not an option"), std::string::npos);
  EXPECT_NE(refusal({"tree"}).find("tree is not an option"), std::string::npos);
  EXPECT_NE(refusal({"--n="}).find("not a number"), std::string::npos);
}

TEST(CommandLine, BlocksArePowersOfTwoThatTheRungTakes) {
  EXPECT_EQ(parse({"--block", "512"}).block, 512u);
  for (const char* text : {"0", "16", "100", "2048", "-64", "x"}) {
    EXPECT_NE(refusal({"--block", text}).find("power of two"), std::string::npos) << text;
  }
  EXPECT_NE(refusal({"--block", "32", "--rung", "any"}).find("64 to 1024"), std::string::npos);
  EXPECT_EQ(refusal({"--block", "32"}), "");
}

TEST(CommandLine, AnUnknownRungIsAnsweredWithTheList) {
  const std::string message = refusal({"--rung", "tree"});
  EXPECT_NE(message.find("lab 02_tree has no rung 'tree'"), std::string::npos);
  EXPECT_NE(message.find("small"), std::string::npos);
  EXPECT_NE(message.find("any"), std::string::npos);
}

TEST(CommandLine, MoreElementsThanARungTakes) {
  EXPECT_NE(refusal({"--rung", "small", "--n", "513"}).find("up to 512 elements"), std::string::npos);
  EXPECT_EQ(refusal({"--rung", "small", "--n", "513", "--block", "512"}), "");
}

TEST(CommandLine, OnlyALabOfRowsTakesRows) {
  const Rung by_rows[] = {Rung("rows").on(+[](const float*, float*, std::size_t, std::size_t, unsigned) {})};
  EXPECT_EQ(parse({"--n", "2^20", "--rows", "2^4"}, by_rows).rows, 16u);
  EXPECT_NE(refusal({"--n", "10", "--rows", "0"}, by_rows).find("needs at least one row"), std::string::npos);
  EXPECT_NE(refusal({"--n", "10", "--rows", "11"}, by_rows).find("only 10 elements"), std::string::npos);
  EXPECT_NE(refusal({"--rows", "4"}, by_rows).find("--n"), std::string::npos);
  EXPECT_NE(refusal({"--n", "10", "--rows", "x"}, by_rows).find("--rows x"), std::string::npos);
  EXPECT_NE(refusal({"--n", "10", "--rows", "2"}).find("--rows"), std::string::npos);
}

TEST(CommandLine, RungsMayBeRepeatedAndDevicesAreThree) {
  EXPECT_EQ(parse({"--rung", "small", "--rung", "any"}).rungs.size(), 2u);
  EXPECT_EQ(parse({"--device", "emulator"}).device, Choice::emulator);
  EXPECT_NE(refusal({"--device", "tpu"}).find("auto, gpu and emulator"), std::string::npos);
  EXPECT_NE(refusal({"--frobnicate"}).find("--frobnicate"), std::string::npos);
  EXPECT_NE(refusal({"--json", "--tap"}).find("exclude"), std::string::npos);
  EXPECT_NE(refusal({"--seed", "-1"}).find("--seed"), std::string::npos);
}

TEST(Processes, TheSameArgumentsButForTheRungs) {
  const char* words[] = {"lab", "--tap", "--rung", "a", "--n=5", "--rung=b", nullptr};
  const std::vector<std::string> rest{"c", "d"};
  EXPECT_EQ(arguments_for(const_cast<char**>(words), rest, true),
            (std::vector<std::string>{"lab", "--n=5", "--json", "--rung=c", "--rung=d"}));
  EXPECT_EQ(arguments_for(const_cast<char**>(words), rest, false),
            (std::vector<std::string>{"lab", "--tap", "--n=5", "--rung=c", "--rung=d"}));
}

} // namespace
} // namespace lab
