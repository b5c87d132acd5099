#include "global_shadow.hpp"

namespace warpfold::watch {

void GlobalShadow::begin_launch(bool clear) {
  if (clear)
    for (LazyArray<Cell>* cells : {&row_last_, &row_read_, &last_, &read_, &wrote_too_}) cells->clear();
  if (!used_) return;
  more_.clear();
  for (Lists& lists : lists_) lists = {};
  used_ = false;
}

void GlobalShadow::split(std::uint64_t word, const GlobalRecords& records, Cell oldest) {
  std::uint64_t row = word / row_words, first = row * row_words;
  const Cell whole = row_last_[row], reader = row_read_[row];
  if (whole >= oldest && lane_of(whole) == split_lane) return;
  row_last_[row] = oldest | split_lane;
  if (whole < oldest) return;
  const bool read_too = !(whole & wrote) && reader >= oldest;
  row_read_[row] = 0;
  auto spread = [&](LazyArray<Cell>& cells, Cell from) {
    unsigned words_a_lane = records[number_of(from)].width / word_bytes;
    for (unsigned i = 0; i < row_words; ++i) cells[first + i] = from + i / words_a_lane;
  };
  spread(last_, whole);
  if (read_too) spread(read_, reader);
}

} // namespace warpfold::watch
