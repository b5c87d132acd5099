#include "explain/where_values_went.hpp"

#include "followed_run.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace lab {
namespace {

TEST(WhereValuesWent, ARightResultNeedsNoReason) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1);
  EXPECT_EQ(run.said(run.compute("add.f32", 20, 0, 3, {{a, 1}, {b, 2}}), 3).kind, "");
}

TEST(WhereValuesWent, AGraphThatDoesNotMakeTheResultSaysNothing) {
  FollowedRun run(2);
  EXPECT_EQ(run.said(run.load(0, 0, 0), 7).kind, "");
}

TEST(WhereValuesWent, ElementsThatNoThreadReads) {
  FollowedRun run(6);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1), c = run.load(2, 1, 0), d = run.load(3, 1, 1);
  const unsigned left = run.compute("add.f32", 20, 0, 3, {{a, 1}, {b, 2}}),
                 right = run.compute("add.f32", 20, 0, 7, {{c, 3}, {d, 4}});
  const Diagnosis said = run.said(run.compute("add.f32", 21, 0, 10, {{left, 3}, {right, 7}}), 10);
  EXPECT_EQ(said.kind, "not-read");
  EXPECT_EQ(
      said.text,
      "Each element should count once. Here elements 4 and 5 do not count, and the others count once, as "
      "they should. No thread reads those that do not count. In line 10, thread t of block b reads, if "
      "anything, element "
      "2 b + t (b is blockIdx.x, t is threadIdx.x, blockDim.x is 4, gridDim.x is 2).");
}

TEST(WhereValuesWent, AnElementThatSeveralThreadsRead) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1), again = run.load(1, 1, 0);
  const unsigned left = run.compute("add.f32", 20, 0, 3, {{a, 1}, {b, 2}});
  const Diagnosis said = run.said(run.compute("add.f32", 21, 0, 5, {{left, 3}, {again, 2}}), 5);
  EXPECT_EQ(said.kind, "read-again");
  EXPECT_NE(said.text.find(
                "In line 10, element 1 is read 2 times, by thread 1 of block 0 and thread 0 of block 1."),
            std::string::npos)
      << said.text;
}

TEST(WhereValuesWent, ASumThatIsAddedByThreeThreads) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1);
  const unsigned sum = run.compute("add.f32", 20, 0, 3, {{a, 1}, {b, 2}});
  unsigned total = run.compute("red.global.add.f32", 30, 0, 0, {{of_constants, 0}, {sum, 3}});
  for (unsigned thread : {1u, 2u})
    total = run.compute("red.global.add.f32", 30, thread, 0, {{total, 0}, {sum, 3}});
  const Diagnosis said = run.said(total, 9);
  EXPECT_EQ(said.kind, "added-again");
  EXPECT_NE(said.text.find(
                "In line 30, the sum of elements 0 and 1 is added 3 times, by threads 0 to 2 of block 0."),
            std::string::npos)
      << said.text;
}

TEST(WhereValuesWent, AValueThatIsAddedAndSubtracted) {
  FollowedRun run(1);
  const unsigned a = run.load(0, 0, 0);
  const unsigned sum = run.compute("add.f32", 20, 0, 1, {{of_constants, 0}, {a, 1}}),
                 less = run.compute("sub.f32", 21, 0, -1, {{of_constants, 0}, {sum, 1}}),
                 twice = run.compute("sub.f32", 22, 0, -2, {{less, -1}, {a, 1}});
  EXPECT_EQ(run.said(run.compute("sub.f32", 23, 0, 3, {{sum, 1}, {twice, -2}}), 3).text,
            "Each element should count once. Here element 0 counts 3 times. In lines 20 and 22, element 0 is "
            "taken 2 "
            "times, by thread 0 of block 0.");
}

TEST(WhereValuesWent, ASumInDoubleThatIsRoundedToAFloatAtTheEnd) {
  FollowedRun run(1);
  const auto in_double = FollowedRun::Bits::of_double;
  const double often = 0x1p25 + 1;
  const unsigned a = run.load(0, 0, 0);
  const unsigned many = run.compute("mul.rn.f64", 20, 0, in_double(often),
                                    {{a, in_double(1)}, {of_constants, in_double(often)}});
  const unsigned rounded = run.compute("cvt.rn.f32.f64", 21, 0, 0x1p25f, {{many, in_double(often)}});
  const std::string said = run.said(rounded, 0x1p25).text;
  EXPECT_TRUE(said.starts_with("Each element should count once. Here element 0 counts 3.35544e+07 times."))
      << said;
  EXPECT_EQ(
      run.said(run.compute("add.f32", 22, 0, 0x1p25f, {{rounded, 0x1p25f}, {of_constants, 0}}), 0x1p25).kind,
      "operation");
}

TEST(WhereValuesWent, AValueThatIsAddedToItself) {
  FollowedRun run(1);
  const unsigned a = run.load(0, 0, 0);
  const Diagnosis said = run.said(run.compute("add.f32", 20, 0, 2, {{a, 1}, {a, 1}}), 2);
  EXPECT_EQ(said.text, "Each element should count once. Here element 0 counts twice. In line 20, thread 0 of "
                       "block 0 adds element 0 to itself.");
}

TEST(WhereValuesWent, WhatIsOverwrittenBeforeItIsRead) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1);
  run.lose(a, "partial[0]", 12, 0, 13, 1);
  const Diagnosis said = run.said(b, 2);
  EXPECT_EQ(said.kind, "overwritten");
  EXPECT_NE(
      said.text.find("In line 12, thread 0 of block 0 stores element 0 in partial[0]. Thread 1 of block 0 "
                     "overwrites it in line 13 before anything has read it."),
      std::string::npos)
      << said.text;
}

TEST(WhereValuesWent, WhatNothingReads) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1);
  run.lose(b, "partial[1]", 12, 1);
  const Diagnosis said = run.said(a, 1);
  EXPECT_EQ(said.kind, "never-read");
  EXPECT_NE(
      said.text.find("In line 12, thread 1 of block 0 stores element 1 in partial[1], and nothing uses it"),
      std::string::npos)
      << said.text;
}

TEST(WhereValuesWent, WhatNothingIsMadeOf) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0);
  run.load(1, 0, 1);
  const Diagnosis said = run.said(a, 1);
  EXPECT_EQ(said.kind, "not-used");
  EXPECT_NE(said.text.find(
                "In line 10, thread 1 of block 0 reads element 1, and nothing that is used is made of that."),
            std::string::npos)
      << said.text;
}

TEST(WhereValuesWent, AValueInWhichNoElementIsLeft) {
  FollowedRun run(1);
  const unsigned a = run.load(0, 0, 0);
  run.compute("sub.f32", 20, 0, 0, {{a, 1}, {a, 1}});
  const Diagnosis said = run.said(of_constants, 5);
  EXPECT_NE(said.text.find("None of the elements counts in the result. In line 20, thread 0 of block 0 has a "
                           "value of no element, and nothing that is used is made of that."),
            std::string::npos)
      << said.text;
}

TEST(WhereValuesWent, WhatOthersTakeInVain) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1);
  run.compute("add.f32", 20, 2, 3, {{a, 1}, {b, 2}}); // had it gone on, element 0 would count twice
  const Diagnosis said = run.said(a, 1);
  EXPECT_EQ(said.kind, "not-used");
  EXPECT_NE(said.text.find(
                "In line 10, thread 1 of block 0 reads element 1. Thread 2 of block 0 takes that from there "
                "in line 20, and what it makes of it does not get into the result."),
            std::string::npos)
      << said.text;
}

TEST(WhereValuesWent, TheSumThatShouldHaveGoneOn) {
  FollowedRun run(3);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1), c = run.load(2, 0, 2);
  const unsigned sum = run.compute("add.f32", 20, 1, 5, {{b, 2}, {c, 3}});
  run.lose(sum, "partial[1]", 21, 1);
  run.compute("add.f32", 20, 3, 4, {{b, 2}, {b, 2}}); // what a lane has left over
  const Diagnosis said = run.said(a, 1);
  EXPECT_EQ(said.kind, "never-read");
  EXPECT_NE(
      said.text.find("In line 21, thread 1 of block 0 stores the sum of elements 1 and 2 in partial[1], and "
                     "nothing uses it"),
      std::string::npos)
      << said.text;
}

TEST(WhereValuesWent, TwoSumsThatHaveAnElementInCommon) {
  FollowedRun run(3);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1), c = run.load(2, 0, 2);
  const unsigned left = run.compute("add.f32", 20, 0, 3, {{a, 1}, {b, 2}});
  const unsigned right = run.compute("add.f32", 20, 1, 5, {{b, 2}, {c, 3}});
  const Diagnosis said = run.said(run.compute("add.f32", 21, 0, 8, {{left, 3}, {right, 5}}), 8);
  EXPECT_EQ(said.kind, "added-again");
  EXPECT_NE(
      said.text.find("In line 21, thread 0 of block 0 combines the sum of elements 0 and 1 and the sum of "
                     "elements 1 and 2: element 1 is in both."),
      std::string::npos)
      << said.text;
}

TEST(WhereValuesWent, WhatIsNoElement) {
  FollowedRun run(1);
  const unsigned a = run.load(0, 0, 0);
  const Diagnosis said = run.said(run.compute("add.f32", 20, 3, 4, {{a, 1}, {of_thread_numbers, 3}}), 4);
  EXPECT_EQ(said.kind, "foreign");
  EXPECT_EQ(said.text,
            "In line 20, thread 3 of block 0 takes 3 as a value: it is made of a thread's own number.");
}

TEST(WhereValuesWent, TheOldResult) {
  FollowedRun run(1);
  const unsigned a = run.load(0, 0, 0), old = run.load_old_result(50);
  const Diagnosis said = run.said(run.compute("atom.global.add.f32", 30, 0, 0, {{old, 50}, {a, 1}}), 51);
  EXPECT_EQ(said.kind, "old-result");
  EXPECT_NE(said.text.find("The value 50 that stood in the result before"), std::string::npos) << said.text;
}

TEST(WhereValuesWent, AResultThatNothingIsStoredIn) {
  FollowedRun run(1);
  run.load(0, 0, 0);
  const Diagnosis said = run.said(run.load_old_result(50), 50);
  EXPECT_EQ(said.kind, "never-written");
}

TEST(WhereValuesWent, AStepOfAnotherOperator) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1);
  const Diagnosis said = run.said(run.compute("mul.f32", 20, 0, 2, {{a, 1}, {b, 2}}), 2);
  EXPECT_EQ(said.kind, "operation");
  EXPECT_EQ(said.text, "In line 20, thread 0 of block 0 makes 2 of 1 and 2 (mul.f32).");
}

TEST(WhereValuesWent, AnotherOperatorInALibrarysCall) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1);
  const Diagnosis said = run.said(
      run.call("max.f32", "ncclReduce(1 of ncclFloat32, ncclMax, root 0)", 40, 2, {{a, 1}, {b, 2}}), 2);
  EXPECT_EQ(said.kind, "operation");
  EXPECT_EQ(said.text, "In line 40, ncclReduce(1 of ncclFloat32, ncclMax, root 0) makes 2 of 1 and 2.");
}

TEST(WhereValuesWent, AnAverageInALibrarysCall) {
  for (const auto& [line, where] : {std::pair(40u, "In line 40, "), std::pair(0u, "")}) {
    FollowedRun run(2);
    const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1);
    const unsigned made = run.call("avg.f32", "ncclReduce(...)", line, 1.5F, {{a, 1}, {b, 2}});
    EXPECT_EQ(run.said(made, 1.5).text,
              fmt::format("Each element should count once. Here elements 0 and 1 count 0.5 times. "
                          "{}ncclReduce(...) takes each value 0.5 times, among them element 0.",
                          where));
  }
}

TEST(WhereValuesWent, AnotherTypeInALibrarysCall) {
  for (const auto& [operation, type] : {std::pair("add.s32", "an int"), std::pair("add.f16", "a half")}) {
    FollowedRun run(2);
    const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1);
    const bool is_half = operation == std::string_view("add.f16");
    const unsigned made = run.call(operation, "ncclReduce(...)", 0, 7, {{a, 1}, {b, 2}}, is_half ? 2 : 4);
    const Diagnosis said = run.said(made, 12345);
    EXPECT_EQ(said.kind, library_type_differs);
    EXPECT_EQ(said.text, fmt::format("ncclReduce(...) takes the bits of a float for those of {}.", type));
  }
}

TEST(WhereValuesWent, WhatALibraryStoresAndNothingReads) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1);
  const unsigned sum = run.call("add.f32", "ncclReduce(...)", 40, 3, {{a, 1}, {b, 2}});
  run.lose(sum, "scratch 1", 0, 0); // the library's copy
  const Diagnosis said = run.said(run.load_old_result(9), 9);
  EXPECT_EQ(said.text,
            "What stood in the result before is still there. In line 40, ncclReduce(...) stores the "
            "sum of elements 0 and 1 in scratch 1, and nothing uses it from there.");
}

// Of several threads that have it, the first may have been meant to go on.
TEST(WhereValuesWent, ASumThatAllLanesHave) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1);
  for (unsigned thread : {0u, 1u}) run.compute("add.f32", 20, thread, 3, {{a, 1}, {b, 2}});
  const Diagnosis said = run.said(run.load_old_result(9), 9);
  EXPECT_NE(said.text.find("In line 20, thread 0 of block 0 has the sum of elements 0 and 1"),
            std::string::npos)
      << said.text;
}

TEST(WhereValuesWent, AConversionThatCutsOffAFraction) {
  FollowedRun run(1);
  const unsigned a = run.load(0, 0, 0);
  const unsigned half = run.compute("mul.f32", 20, 0, 0.5f, {{a, 1}, {of_constants, 0.5f}});
  const Diagnosis said = run.said(run.compute("cvt.rzi.s32.f32", 21, 0, 0, {{half, 0.5f}}), 0);
  EXPECT_EQ(said.kind, "operation");
  EXPECT_EQ(said.text,
            "In line 21, thread 0 of block 0 converts 0.5, a float, to an int: 0. The bits of that "
            "are then taken for those of a float.");
  const Diagnosis wide = run.said(run.compute("cvt.rzi.u64.f32", 21, 0, 0, {{half, 0.5f}}), 0);
  EXPECT_TRUE(wide.text.find("converts 0.5, a float, to an unsigned 64-bit int: 0.") != std::string::npos)
      << wide.text;
}

TEST(WhereValuesWent, AnIntegerThatIsRoundedToAFloat) {
  FollowedRun run(2);
  run.elements_are(Type::int32);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1);
  const Diagnosis said = run.said(run.compute("mul.rn.f32", 20, 0, 16777216, {{a, 5}, {b, 3355443.5}}), 1);
  EXPECT_EQ(said.kind, "rounded-to-float");
  EXPECT_EQ(said.text,
            "In line 20, thread 0 of block 0 makes 16777216 of 16777217.5 (mul.rn.f32): a float keeps "
            "24 bits, and each element is an int.");
}

TEST(WhereValuesWent, AMinimumThatBeginsWithAConstant) {
  FollowedRun run(1, Operator::min);
  const unsigned a = run.load(0, 0, 0);
  const Diagnosis said = run.said(run.compute("min.f32", 20, 0, 0, {{a, 1}, {of_constants, 0}}), 0);
  EXPECT_EQ(said.kind, "foreign");
  EXPECT_NE(said.text.find("takes 0 as a value: it is a constant of the program. What takes part beside the "
                           "elements must be the identity, inf."),
            std::string::npos)
      << said.text;
}

TEST(WhereValuesWent, AnElementThatLosesAComparisonIsNotLost) {
  FollowedRun run(2, Operator::min);
  run.load(1, 0, 1); // compared by a branch
  EXPECT_EQ(run.said(run.load(0, 0, 0), 1).kind, "");
}

TEST(WhereValuesWent, AMinimumOfPartOfTheElements) {
  FollowedRun run(3, Operator::min);
  const Diagnosis said = run.said(run.load(2, 0, 0), 3);
  EXPECT_EQ(said.kind, "not-read");
  EXPECT_NE(said.text.find("No thread reads elements 0 and 1;"), std::string::npos) << said.text;
}

TEST(WhereValuesWent, AMaximumOfWhichAStepKeepsTheWorse) {
  FollowedRun run(2, Operator::max);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1);
  const Diagnosis said = run.said(run.compute("min.f32", 20, 0, 1, {{a, 1}, {b, 2}}), 1);
  EXPECT_EQ(said.kind, "passed-over");
  EXPECT_EQ(said.text, "The maximum is element 1. In line 20, thread 0 of block 0 has 2 and 1, and keeps the "
                       "latter, which is smaller (min.f32).");
}

TEST(WhereValuesWent, AMaximumThatAThreadGoesOnWithout) {
  FollowedRun run(2, Operator::max);
  const unsigned a = run.load(0, 0, 0);
  run.load(1, 0, 1);
  const Diagnosis said = run.said(a, 1);
  EXPECT_EQ(said.kind, "not-used");
  EXPECT_EQ(said.text, "The maximum is element 1. In line 10, thread 1 of block 0 reads element 1, and "
                       "after that it is lost.");
}

TEST(WhereValuesWent, TheResultOfNoElements) {
  const FollowedRun run(0, Operator::max);
  const Diagnosis said = run.said(of_thread_numbers, -1);
  EXPECT_EQ(said.kind, "wrong-identity");
  EXPECT_EQ(said.text,
            "There are no elements, so the result must be the identity, -inf. It is -1: it is made "
            "of a thread's own number.");
  EXPECT_FALSE(said.specific);
}

TEST(WhereValuesWent, WhatComesFromTheLaunch) {
  FollowedRun run(1);
  const unsigned a = run.load(0, 0, 0);
  EXPECT_EQ(
      run.said(run.compute("add.f32", 20, 3, 5, {{a, 1}, {of_arguments, 4}}), 5).text,
      "In line 20, thread 3 of block 0 takes 4 as a value: it comes from the launch's arguments or sizes.");
}

TEST(WhereValuesWent, BitsThatAreCutOff) {
  FollowedRun run(1);
  const unsigned a = run.load(0, 0, 0); // 0x3f800000
  EXPECT_EQ(run.said(run.compute("cvt.u16.u32", 20, 0, 0, {{a, 1}}), 0).text,
            "In line 20, thread 0 of block 0 keeps only the last 16 bits of an integer.");
}

TEST(WhereValuesWent, ASmallestNumberThatIsAboveZero) {
  FollowedRun run(2, Operator::min);
  constexpr float least = std::numeric_limits<float>::min();
  const unsigned a = run.load(0, 0, 0);
  const Diagnosis said =
      run.said(run.compute("min.f32", 20, 0, least, {{of_constants, least}, {a, 1}}), least);
  EXPECT_TRUE(
      said.text.ends_with(" That is numeric_limits<float>::min(), the smallest normal number above 0. What "
                          "takes part beside the elements must be the identity, inf."))
      << said.text;
}

TEST(WhereValuesWent, WhatTheHostMakesOfRightValues) {
  FollowedRun run(3);
  const FollowedRun::Operand a{run.load(0, 0, 0), 1}, b{run.load(1, 0, 1), 2}, c{run.load(2, 0, 2), 3};
  const unsigned result = run.on_host(2, {a, b, c});
  EXPECT_EQ(
      run.said(result, 2).text,
      "The 3 values that are copied to the host are right: together they make 6. The host makes 2 of them. "
      "That is the value with the index 1 alone.");
  EXPECT_TRUE(run.said(result, 4).text.ends_with(
      "The host makes 4 of them. That is all of them but the one with the index 1."));
}

TEST(WhereValuesWent, WhatTheHostCopiesTwice) {
  FollowedRun run(1);
  const unsigned a = run.load(0, 0, 0);
  const Diagnosis said = run.said(run.on_host(2, {{a, 1}, {a, 1}}), 2);
  EXPECT_TRUE(said.text.ends_with("Element 0 is copied to the host 2 times.")) << said.text;
}

TEST(WhereValuesWent, WhatTheHostOverwrites) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1);
  run.lose_to_host(a, "scratch[0]", 20);
  const Diagnosis said = run.said(b, 2);
  EXPECT_EQ(said.kind, "overwritten");
  EXPECT_TRUE(said.text.ends_with("stores element 0 in scratch[0]. The host overwrites it.")) << said.text;
}

TEST(WhereValuesWent, ALaunchThatIsMissing) {
  FollowedRun run(1);
  run.launch_nothing();
  EXPECT_EQ(run.said(run.load_old_result(50), 50).text,
            "No kernel is launched, and the result stays what it was before.");
}

TEST(WhereValuesWent, AnElementThatGoesIntoTheNextRow) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0), b = run.load(1, 0, 1);
  const Diagnosis said = run.said_of_row(0, fmt::format("{},{}", b, a), {2, 1});
  EXPECT_EQ(said.kind, "other-row");
  EXPECT_NE(
      said.text.find("In line 10, thread 0 of block 0 has element 0, which becomes the result of row 1."),
      std::string::npos)
      << said.text;
  EXPECT_NE(said.text.find("Element 0 of row 1 counts in the result of row 0; in line 10, thread 1 of "
                           "block 0 reads it."),
            std::string::npos)
      << said.text;
}

TEST(WhereValuesWent, RowsWhoseResultsNothingIsStoredIn) {
  FollowedRun run(2);
  const unsigned old = run.load_old_result(50);
  const Diagnosis said = run.said_of_row(0, fmt::format("{0},{0}", old), {50, 50});
  EXPECT_EQ(said.kind, "never-written");
  EXPECT_EQ(said.text.find("Nothing is stored in the result of row 0 and of 1 other row."), 0u) << said.text;
}

TEST(WhereValuesWent, ASumThatIsInfinite) {
  FollowedRun run(1);
  const unsigned a = run.load(0, 0, 0);
  const auto infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(run.said(run.compute("add.f32", 20, 0, infinity, {{a, 0x1p127f}, {a, 0x1p127f}}), infinity).text,
            "In line 20, thread 0 of block 0 makes inf of 1.701411835e+38 and 1.701411835e+38 (add.f32).");
}

TEST(WhereValuesWent, ElementsThatCancelOut) {
  FollowedRun run(1);
  const unsigned a = run.load(0, 0, 0);
  EXPECT_EQ(run.said(run.compute("sub.f32", 20, 0, 0, {{a, 1}, {a, 1}}), 0).text,
            "None of the elements counts in the result.");
}

TEST(WhereValuesWent, ElementsThatCountInMoreWaysThanCanBeListed) {
  FollowedRun run(5);
  unsigned total = run.load(0, 0, 0);
  float sum = 1;
  for (unsigned i = 1; i < 5; ++i) {
    const auto value = float(i + 1);
    const unsigned often =
        run.compute("mul.f32", 20, 0, value * value, {{run.load(i, 0, 0), value}, {of_constants, value}});
    total = run.compute("add.f32", 21, 0, sum + value * value, {{total, sum}, {often, value * value}});
    sum += value * value;
  }
  EXPECT_NE(run.said(total, sum)
                .text.find("Here the elements count between 1 and 5 times: element 0 counts "
                           "once, element 4 counts 5 times."),
            std::string::npos)
      << run.said(total, sum).text;
}

// Words of two elements, times ones.
unsigned sum_of_row(FollowedRun& run, unsigned first, float sum) {
  const float ones = std::bit_cast<float>(0x3f803f80);
  const unsigned left = run.load(first, 0, 0), right = run.load(first + 1, 0, 1);
  return run.compute("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 20, 0, sum,
                     {{of_constants, 0}, {left, 1}, {of_constants, ones}, {right, 1}, {of_constants, ones}});
}

TEST(WhereValuesWent, ARowOfAMatrixThatIsNotAdded) {
  FollowedRun run(8);
  run.elements_are(Type::bfloat16);
  const unsigned first = sum_of_row(run, 0, 10), second = sum_of_row(run, 2, 26);
  const Diagnosis said = run.said(first, 10);
  EXPECT_EQ(said.kind, "not-used");
  EXPECT_EQ(
      said.text,
      "Each element should count once. Here elements 4 to 7 (the last 4) do not count, elements 0 to 3 "
      "(the first 4) count once. In line 20, thread 0 of block 0 has the sum of elements 4 to 7 (the last "
      "4), and nothing that is used is made of that.");
  const unsigned both = run.compute("add.f32", 21, 0, 36, {{first, 10}, {second, 26}});
  EXPECT_EQ(run.said(both, 36).kind, "");
  EXPECT_EQ(run.said(run.compute("add.f32", 21, 0, 46, {{both, 36}, {first, 10}}), 46).kind, "added-again");
}

TEST(WhereValuesWent, AWordThatIsNotUsed) {
  FollowedRun run(4);
  run.elements_are(Type::bfloat16);
  const unsigned left = run.load(0, 0, 0);
  run.load(1, 0, 1);
  const unsigned sum =
      run.compute("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 20, 0, 3,
                  {{of_constants, 0}, {left, 1}, {of_constants, std::bit_cast<float>(0x3f803f80)}});
  EXPECT_NE(
      run.said(sum, 3).text.find("In line 10, thread 1 of block 0 reads elements 2 and 3, and nothing that "
                                 "is used is made of that."),
      std::string::npos)
      << run.said(sum, 3).text;
}

TEST(WhereValuesWent, WhatCameInAWayThatIsNotFollowedSaysNothing) {
  FollowedRun run(2);
  const unsigned a = run.load(0, 0, 0), unknown = run.load(5, 0, 1); // beyond the input
  EXPECT_EQ(run.said(run.compute("add.f32", 20, 0, 7, {{a, 1}, {unknown, 6}}), 7).kind, "");
}

TEST(WhereValuesWent, APartOfTheInputThatIsLongerThanTheInput) {
  Outcome outcome;
  outcome.results = {1};
  outcome.followed.input = {{FollowedRun::input, 0, 1u << 30}};
  outcome.followed.graph =
      R"({"complete":true,"roots":[3],"launches":[["k",1,1,0,true,[]]],"places":[["ld.f32","x",1,0,""]],"nodes":[[0,4,[0,0,0,0],1,4000,0,0]],"operands":[],"losses":[],"host_copies":[]})";
  Case given;
  given.n = 1;
  EXPECT_EQ(from_values(outcome, given, make_sequence(Type::float32, Operator::add, Kind::exact, 1, 1)).kind,
            "");
}

TEST(WhereValuesWent, ATextThatIsNoGraph) {
  Outcome outcome;
  outcome.results = {1};
  Case given;
  given.n = 1;
  const Sequence input = make_sequence(Type::float32, Operator::add, Kind::exact, 1, 1);
  for (
      const char* text :
      {"{", "{}",
       R"({"complete":true,"roots":[9],"launches":[],"places":[],"nodes":[],"operands":[],"losses":[],"host_copies":[]})"}) {
    outcome.followed.graph = text;
    EXPECT_THROW(from_values(outcome, given, input), std::exception) << text;
  }
}

} // namespace
} // namespace lab
