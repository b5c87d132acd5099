// What wrong numbers show by themselves, wherever they were computed: that they change from run to run, that
// nothing was written, that a float stalled, or that a known mistake in a step of Kahan's summation gives
// exactly them.
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
  bool is_kahan = false;                     // the student writes a step of Kahan's summation:
  std::vector<Observation> of_rounding = {}; // then also on as many elements whose sums are rounded
};

// The kind is empty if nothing fits.
Diagnosis diagnose(const Symptom& symptom);
// Of a step of Kahan's summation. The kind is empty if no known mistake fits, or more than one.
Diagnosis mistake_in_kahan(const Symptom& symptom);

// The check with the most telling diagnosis, or null: the specific before the vague, the mistake that
// explains the most checks before others, the usual case before others, then the one whose n is closest to
// 1000: some blocks and a fraction of one, and numbers that can be worked out by hand.
const Check* most_telling(std::span<const Check> checks);

// That check's diagnosis, preceded by the check's own figures if it is not the check `reported`.
Diagnosis diagnosis_beside(std::span<const Check> checks, const Check& reported);

} // namespace lab
