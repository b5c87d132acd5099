#include "global_shadow.hpp"

namespace warpfold::analysis {

void GlobalShadow::begin_launch(bool clear) {
  if (clear) {
    row_last_.clear(), row_read_.clear(), of_words_.clear();
    if (of_bytes_) of_bytes_->clear();
  }
  if (!used_) return;
  of_words_.more.clear();
  if (of_bytes_) of_bytes_->more.clear();
  for (Lists& lists : lists_) lists = {};
  used_ = false;
}

// Another worker may enter an access meanwhile. Once the row is marked it enters none as a whole, and it
// waits here until the words have what the row had.
void GlobalShadow::split_row(std::uint64_t word, const GlobalRecords& records, Cell oldest) {
  const std::uint64_t row = word / row_words, first = row * row_words;
  const Cell split = oldest | split_lane, splitting = split | strong;
  std::atomic_ref last(row_last_[row]);
  Cell whole = last.load(std::memory_order_acquire);
  while (whole < oldest)
    if (last.compare_exchange_strong(whole, split)) return;
  if (whole == split) return;
  std::lock_guard lock(locks_[row % lock_count]);
  if (last.load() == split) return;
  whole = last.exchange(splitting);
  const Cell reader = seen(row_read_[row]);
  auto spread = [&](machine::LazyArray<Cell>& cells, Cell from) {
    unsigned words_a_lane = records[number_of(from)].width / word_bytes;
    for (unsigned i = 0; i < row_words; ++i) cells[first + i] = from + i / words_a_lane;
  };
  spread(of_words_.last, whole);
  if (!(whole & wrote) && reader >= oldest) spread(of_words_.read, reader);
  row_read_[row] = 0;
  last.store(split);
}

// Another worker may enter an access meanwhile: what the word's cell then holds is spread once more.
void GlobalShadow::split_word(std::uint64_t word, Cell oldest) {
  if (is_split(word, oldest)) return;
  std::lock_guard lock(splitting_);
  if (!of_bytes_) of_bytes_ = std::make_unique<Cells>(rows() * row_bytes);
  const std::uint64_t first = word * word_bytes | is_byte;
  std::vector<Cell> list;
  if (seen(read(word)) >= oldest && (seen(read(word)) & has_more))
    change_list(word, false, [&](std::vector<Cell>& all) { std::swap(list, all); });
  for (Cell before = seen(last(word)); before != (oldest | split_lane);) {
    for (std::uint64_t place = first; before >= oldest && place < first + word_bytes; ++place) {
      last(place) = before, read(place) = seen(read(word)), wrote_too(place) = seen(wrote_too(word));
      if (!list.empty()) change_list(place, true, [&](std::vector<Cell>& all) { all = list; });
    }
    if (replace(last(word), before, oldest | split_lane)) return;
  }
}

} // namespace warpfold::analysis
