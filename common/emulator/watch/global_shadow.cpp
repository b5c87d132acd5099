#include "races.hpp"

namespace warpfold::watch {

namespace {

// A row's cell that says only that its words have cells of their own. No whole row begins with this lane.
constexpr unsigned split_lane = 31;

} // namespace

void GlobalShadow::clear() {
  for (LazyArray<Cell>* cells : {&row_last_, &last_, &reader_}) cells->clear();
}

bool GlobalShadow::enter_row(std::uint64_t word, bool store, Cell cell, Cell oldest) {
  Cell& last = row_last_[word / row_words];
  if (last < oldest) {
    last = cell | (store ? wrote : 0);
    return true;
  }
  return !store && !(last & wrote) && lane_of(last) != split_lane;
}

void GlobalShadow::split(std::uint64_t word, const GlobalRecords& records, Cell oldest) {
  std::uint64_t row = word / row_words, first = row * row_words;
  const Cell whole = row_last_[row];
  if (whole >= oldest && lane_of(whole) == split_lane) return;
  row_last_[row] = oldest | split_lane;
  if (whole < oldest) return;
  unsigned words_a_lane = records[number_of(whole)].width / word_bytes;
  for (unsigned i = 0; i < row_words; ++i) last_[first + i] = whole + i / words_a_lane;
}

} // namespace warpfold::watch
