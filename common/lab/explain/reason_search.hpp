// Looks for the reason of a rung's wrong results, once all its cases are judged.
#pragma once

#include "judge/case_judge.hpp"

namespace lab {

// Gives the checks of the failures their diagnoses. Where that takes further cases, `judge` judges them.
void explain_failures(const Rung& rung, CaseJudge& judge, Progress& progress);

} // namespace lab
