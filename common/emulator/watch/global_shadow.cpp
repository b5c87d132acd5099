#include "races.hpp"

namespace warpfold::watch {

void GlobalShadow::clear() {
  for (LazyArray<Cell>* cells : {&row_wrote_, &row_read_, &row_split_, &wrote_, &read_}) cells->clear();
}

bool GlobalShadow::enter_row(std::uint64_t word, bool store, Cell cell, Cell oldest) {
  std::uint64_t row = word / row_words;
  Cell &wrote = row_wrote_[row], &read = row_read_[row];
  if (row_split_[row] >= oldest || wrote >= oldest) return false;
  if (!store) {
    if (read < oldest) read = cell;
    return true;
  }
  if (read >= oldest) return false;
  wrote = cell;
  return true;
}

void GlobalShadow::split(std::uint64_t word, const Origins& origins, Cell oldest) {
  std::uint64_t row = word / row_words, first = row * row_words;
  if (row_split_[row] >= oldest) return;
  row_split_[row] = oldest;
  auto spread = [&](Cell whole, Cell* words) {
    if (whole < oldest) return;
    unsigned words_a_lane = origins[origin_of(whole)].width / word_bytes;
    for (unsigned i = 0; i < row_words; ++i)
      words[i] = cell(origin_of(whole), lane_of(whole) + i / words_a_lane);
  };
  spread(row_wrote_[row], &wrote_[first]);
  spread(row_read_[row], &read_[first]);
  row_wrote_[row] = row_read_[row] = 0;
}

} // namespace warpfold::watch
