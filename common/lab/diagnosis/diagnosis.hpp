// What a wrong number looks like.
//
// Each known mistake predicts the number that it gives: a kernel that forgets the last, partial block gives
// the sum of the elements before it, and so on. The prediction is worked out from the input and held against
// what came, on two inputs that have nothing in common, so that it does not fit by chance. A mistake is named
// only where its prediction holds to the bit on both; where none does, nothing is said.
#pragma once

#include "checking/run.hpp"
#include "result.hpp"

#include <span>

namespace lab {

// What one run was given and gave.
struct Observation {
  const Sequence* input = nullptr;
  double expected = 0, got = 0;
};

struct Symptom {
  Case given;
  unsigned resident_blocks = 1;          // blocks of given.block threads that the device holds
  std::vector<Observation> observations; // on different inputs of the same case; at least one
  std::vector<double> again;             // further results on the first observation's input
  bool one_block = false;                // no more than that is ever launched
  bool races_are_told = false;           // by hazards; here there was none
  bool of_rows = false;                  // what is reduced is a row of a matrix, or could have been
};

// The same where each row of a matrix is reduced to a result.
struct RowObservation {
  const Sequence* input = nullptr;
  std::vector<double> expected, got; // of each row
};

// With an empty kind where nothing fits.
Diagnosis diagnose(const Symptom& symptom);
Diagnosis diagnose_rows(const Case& given, std::span<const RowObservation> observations);

// The check whose diagnosis says most, or null: the specific before the vague, the mistake that explains the
// most checks before others, the usual case before others, then the one whose n is closest to 1000: some
// blocks and a fraction of one, and numbers that can be worked out by hand.
const Check* most_telling(std::span<const Check> checks);

// The same check's diagnosis, with the figures that it speaks of where those are not those of `told`.
Diagnosis diagnosis_beside(std::span<const Check> checks, const Check& told);

} // namespace lab
