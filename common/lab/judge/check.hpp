// What is judged: one run of a rung on one input, or one property that it must have.
#pragma once

#include <cstddef>
#include <string>

namespace lab {

// What a wrong result looks like, with the evidence.
struct Diagnosis {
  std::string kind; // "not-read", "overwritten": see explain/. "": no diagnosis
  std::string text;
  bool specific = false; // singles out one mistake, which "the result is 0" does not
};

// One run of a rung on one input, or one property that it must have.
struct Check {
  std::string name; // "n = 257, integers"
  bool ok = true;
  bool skipped = false; // message says why
  std::string message;  // if not ok: what was expected, and the result
  Diagnosis diagnosis;
  std::size_t n = 0;
  bool decides = false; // its diagnosis becomes the rung's
  bool exact = false;   // the sums of its input are all exact
  bool usual = false;   // and it is aligned, with the usual number of threads per block
};

// One more check of a rung that has been found right.
struct FurtherCheck {
  Check check;
  bool device_lost = false;
};

} // namespace lab
