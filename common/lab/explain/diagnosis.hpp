// What a wrong number looks like.
//
// Each known mistake predicts the number that it gives: a kernel that forgets the last, partial block gives
// the sum of the elements before it, and so on. The prediction is computed from the input and compared with
// the result, on two inputs that have nothing in common, so that it does not fit by chance. A mistake is
// named only if its prediction is exact to the bit on both; if none is, nothing is said.
#pragma once

#include "input/case.hpp"
#include "judge/check.hpp"

#include <span>

namespace lab {

// The input and the result of one run.
struct Observation {
  const Sequence* input = nullptr;
  double expected = 0, got = 0;
};

struct Symptom {
  Case given;
  unsigned resident_blocks = 1;              // blocks of given.block threads that the device holds
  std::vector<Observation> observations;     // on different inputs of the same case; at least one
  std::vector<double> again;                 // further results on the first observation's input
  bool one_block = false;                    // the rung never launches more than one
  bool races_are_told = false;               // as hazards, and there was none
  bool of_rows = false;                      // the array is a row of a matrix, or could be one
  double launched_blocks = 0;                // if the rung launches once, and it is known
  bool combines = false;                     // the student writes how two values are combined
  bool is_kahan = false;                     // the student writes a step of Kahan's summation:
  std::vector<Observation> of_rounding = {}; // then also on as many elements whose sums are rounded
};

// The same if each row of a matrix is reduced to a result.
struct RowObservation {
  const Sequence* input = nullptr;
  std::vector<double> expected, got; // of each row
};

// The kind is empty if nothing fits.
Diagnosis diagnose(const Symptom& symptom);
Diagnosis diagnose_rows(const Case& given, std::span<const RowObservation> observations);

// The check with the most telling diagnosis, or null: the specific before the vague, the mistake that
// explains the most checks before others, the usual case before others, then the one whose n is closest to
// 1000: some blocks and a fraction of one, and numbers that can be worked out by hand.
const Check* most_telling(std::span<const Check> checks);

// That check's diagnosis, preceded by the check's own figures if it is not the check `told`.
Diagnosis diagnosis_beside(std::span<const Check> checks, const Check& told);

} // namespace lab
