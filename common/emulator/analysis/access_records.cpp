#include "access_records.hpp"

namespace warpfold::analysis {

bool GlobalRecords::begin_launch() {
  std::uint32_t used = next_chunk_;
  for (std::uint32_t chunk = first_chunk_; chunk < used && chunk < chunk_count; ++chunk)
    chunks_[chunk].reset();
  bool anew = used > chunk_count / 2;
  first_chunk_ = anew ? 1 : used;
  next_chunk_ = first_chunk_;
  first_ = first_chunk_ * chunk_size;
  return anew;
}

std::uint32_t GlobalRecords::take_chunk() {
  std::uint32_t chunk = next_chunk_.fetch_add(1);
  if (chunk >= chunk_count) {
    next_chunk_ = chunk_count;
    return 0;
  }
  chunks_[chunk] = std::make_unique<AccessRecord[]>(chunk_size);
  return chunk * chunk_size + (chunk == first_chunk_ ? 1 : 0);
}

} // namespace warpfold::analysis
