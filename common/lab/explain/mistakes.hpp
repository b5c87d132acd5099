// What number each known mistake gives.
//
// A mistake in a sum is a hypothesis: the number that it predicts for an input, to the bit. For other
// operators and for rows of a matrix, a mistake does not predict one number, so each function below looks for
// all the mistakes that it knows. Which of several mistakes is named is decided in diagnosis.cpp.
#pragma once

#include "explain/diagnosis.hpp"

#include <functional>
#include <string>
#include <vector>

namespace lab {

// An input's sums by place: `residue[r]` of the elements i with i mod (2 * block) = r. Whatever the rung, a
// thread takes elements of the same place in each part of the array, so what a thread, a warp or a step of
// the tree loses is a set of places.
struct Places {
  std::vector<double> residue;
  double total = 0;

  Places(const Sequence& input, unsigned block);
  double where(const std::function<bool(unsigned)>& kept) const;
};

// An observation, prepared for the hypotheses.
struct View {
  const Observation& observation;
  Places places;

  // The sum in which element i counts weight(i) times.
  template <class Weight>
  double weighed(Weight weight) const {
    const Sequence& input = *observation.input;
    double sum = 0;
    for (std::size_t i = 0; i < input.n; ++i) {
      if (const double times = weight(i); times != 0) sum += times * input[i];
    }
    return sum;
  }
};

// A mistake: its prediction for an observation. The text is made only if the prediction fits.
struct Hypothesis {
  std::string kind;
  std::function<double(const View&)> predict;
  std::function<std::string()> text;
  bool specific = true;
  double times = 0; // as in Diagnosis
};

// Of sums, the more telling first. They refer to the symptom, which must outlive them.
std::vector<Hypothesis> mistakes_in_sums(const Symptom& symptom);

// Of a step of Kahan's summation. The kind is empty if none fits, or more than one.
Diagnosis mistake_in_kahan(const Symptom& symptom);

// Of products, minima and maxima. The kind is empty if nothing fits.
Diagnosis mistake_in_operator(const Symptom& symptom);

} // namespace lab
