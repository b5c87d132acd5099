#include "program/check_rung.hpp"

#include "explain/reason_search.hpp"

namespace lab {

Checked check_rung(const Rung& rung, const Options& options, Progress& progress) {
  CaseJudge judge(rung, options, progress);
  judge.judge_all();
  explain_failures(rung, judge, progress);
  return {progress.so_far(), judge.judged.device_lost, judge.judged.not_a_number};
}

} // namespace lab
