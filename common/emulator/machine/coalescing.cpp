#include "coalescing.hpp"

#include <algorithm>

namespace warpfold::machine {

namespace {

// A small set of numbers in the order of their arrival, because most requests repeat the last one.
struct Distinct {
  std::uint64_t values[2 * warp_lanes];
  unsigned count = 0;
  void add(std::uint64_t value) {
    for (unsigned i = count; i-- > 0;)
      if (values[i] == value) return;
    values[count++] = value;
  }
};

template <typename Visit>
void each_lane(std::uint32_t mask, Visit visit) {
  for (; mask; mask &= mask - 1) visit(static_cast<unsigned>(std::countr_zero(mask)));
}

// The number of passes, for lanes whose words the banks serve together.
unsigned passes(const std::uint64_t* addresses, std::uint32_t mask, unsigned words) {
  std::uint64_t first_word[bank_count]; // the first word requested from each bank; further ones go to `more`
  std::uint32_t seen = 0;
  Distinct more;
  std::uint8_t in_bank[bank_count];
  unsigned worst = 0;
  each_lane(mask, [&](unsigned lane) {
    for (unsigned part = 0; part < words; ++part) {
      std::uint64_t word = addresses[lane] / bank_bytes + part;
      unsigned bank = word % bank_count;
      if (!(seen >> bank & 1)) {
        seen |= 1u << bank;
        first_word[bank] = word;
        in_bank[bank] = 1;
        worst = std::max(worst, 1u);
      } else if (first_word[bank] != word) {
        unsigned before = more.count;
        more.add(word);
        if (more.count != before) worst = std::max<unsigned>(worst, ++in_bank[bank]);
      }
    }
  });
  return worst;
}

} // namespace

unsigned sectors(const std::uint64_t* addresses, std::uint32_t mask, unsigned width) {
  Distinct touched;
  each_lane(mask, [&](unsigned lane) {
    std::uint64_t first = addresses[lane] / sector_bytes, last = (addresses[lane] + width - 1) / sector_bytes;
    touched.add(first);
    if (last != first) touched.add(last);
  });
  return touched.count;
}

Wavefronts wavefronts(const std::uint64_t* addresses, std::uint32_t mask, unsigned width) {
  if (mask == 0) return {};
  unsigned words = std::max(1u, width / bank_bytes);
  unsigned lanes_together = warp_lanes / words;
  Wavefronts result;
  for (unsigned first = 0; first < warp_lanes; first += lanes_together) {
    std::uint32_t group = mask & (all_lanes >> (warp_lanes - lanes_together) << first);
    if (group == 0) continue;
    result.count += passes(addresses, group, words);
    ++result.ideal;
  }
  return result;
}

} // namespace warpfold::machine
