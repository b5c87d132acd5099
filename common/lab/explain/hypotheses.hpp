// The mistakes in sums, with a file for each subject. Each function below adds the hypotheses of one subject;
// mistakes_in_sums.cpp calls them in order, the more telling first.
//
// A new mistake is one more add() in the file of its subject, a case in
// tests/lab/explain/diagnosis_test.cpp, and a mutant in tests/mutants with that diagnosis.
#pragma once

#include "explain/mistakes.hpp"

#include <utility>

namespace lab {

// All hypotheses for one symptom.
struct Hypotheses {
  explicit Hypotheses(const Symptom& seen) : symptom(seen), n(seen.given.n), block(seen.given.block) {}

  void add(std::string kind, std::function<double(const View&)> predict, std::function<std::string()> text,
           bool specific = true, double times = 0) {
    found.push_back({std::move(kind), std::move(predict), std::move(text), specific, times});
  }
  // Only the first `count` elements are added up.
  void add_prefix(const char* kind, std::size_t count, std::function<std::string()> text) {
    if (count == 0 || count >= n) return;
    add(
        kind, [count](const View& v) { return reduce(*v.observation.input, 0, count).value; },
        std::move(text));
  }

  const Symptom& symptom;
  const std::size_t n;
  const unsigned block;
  std::vector<Hypothesis> found;
};

void add_whole(Hypotheses& all); // in sums_as_a_whole.cpp, like the next four
void add_signs(Hypotheses& all);
void add_widths(Hypotheses& all);
void add_extremes(Hypotheses& all);
void add_identity(Hypotheses& all);
void add_prefixes(Hypotheses& all); // in sums_of_prefixes.cpp
void add_shards(Hypotheses& all);   // in sums_of_shards.cpp
void add_threads(Hypotheses& all);  // in sums_of_threads.cpp
void add_steps(Hypotheses& all);    // likewise
void add_walks(Hypotheses& all);    // in sums_of_walks.cpp

} // namespace lab
