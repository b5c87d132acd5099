// Damaged containers: reading ends, either with images or with a FormatError.
#include "../ptx/cases.hpp"
#include "dump.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace {

using namespace warpfold;

class Mutator {
public:
  Mutator(std::vector<std::string> files, unsigned seed) : files_(std::move(files)), random_(seed) {}

  std::string next() {
    std::string file = files_[pick(files_.size())];
    for (std::size_t change = 0, changes = 1 + pick(4); change < changes; ++change) damage(file);
    return file;
  }

private:
  std::size_t pick(std::size_t below) { return below == 0 ? 0 : random_() % below; }

  void damage(std::string& file) {
    constexpr std::uint64_t telling[] = {0,  1,          15,         16,         63,
                                         64, 0x7fffffff, 0x80000000, 0xffffffff, ~std::uint64_t{0}};
    // Half of the damage is done to the headers.
    const std::size_t at = pick(pick(2) == 0 ? std::min<std::size_t>(file.size(), 96) : file.size());
    if (file.empty()) return;
    switch (pick(5)) {
    case 0:
      file[at] = static_cast<char>(random_());
      break;
    case 1:
      file[at] ^= static_cast<char>(1u << pick(8));
      break;
    case 2:
      file.resize(at);
      break;
    case 3:
      file.insert(at, files_[pick(files_.size())].substr(at % 50, pick(100)));
      break;
    default: {
      const std::uint64_t value = telling[pick(std::size(telling))];
      const std::size_t aligned = at & ~std::size_t{3};
      std::memcpy(file.data() + aligned, &value,
                  std::min<std::size_t>(pick(2) == 0 ? 4 : 8, file.size() - aligned));
    }
    }
  }

  std::vector<std::string> files_;
  std::mt19937 random_;
};

TEST(Fuzz, DamagedFatBinariesAreReadOrRefused) {
  std::vector<std::string> files;
  for (const auto& path : inputs::cases(".fatbin")) {
    if (path.parent_path().filename() != "malformed") files.push_back(inputs::read_file(path));
  }
  Mutator mutator(std::move(files), 20261120);
  int read = 0, refused = 0;
  for (int round = 0; round < 40000; ++round) {
    // A heap copy of exactly this size, so that a sanitizer detects reads beyond it.
    const std::string file = mutator.next();
    const std::vector<char> exact(file.begin(), file.end());
    const std::string result = fatbin::dump_or_error({exact.data(), exact.size()});
    ++(result.starts_with("error: ") ? refused : read);
  }
  EXPECT_GT(read, 4000);
  EXPECT_GT(refused, 4000);
}

} // namespace
