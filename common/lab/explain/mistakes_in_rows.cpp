// What is wrong with the sums of a matrix's rows: mistakes of the matrix first, then of one row as of any
// sum.
#include "explain/diagnosis.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lab {
namespace {

bool all_of(std::span<const RowObservation> observations, auto holds) {
  return std::all_of(observations.begin(), observations.end(), holds);
}

std::size_t first_wrong(const RowObservation& seen) {
  std::size_t row = 0;
  while (row < seen.got.size() && seen.got[row] == seen.expected[row]) ++row;
  return row;
}

// Rows that still hold what was there before.
Diagnosis from_untouched(const Case& given, std::span<const RowObservation> observations) {
  const double before = poison(observations[0].input->type, Kind::exact);
  std::size_t count = 0;
  for (const RowObservation& seen : observations) {
    count = 0;
    for (std::size_t row = 0; row < given.rows; ++row) {
      if (seen.got[row] == seen.expected[row]) continue;
      if (seen.got[row] != before) return {};
      ++count;
    }
  }
  return {"rows-not-written",
          fmt::format("{} of the {} sums {} {:.0f}, which the check put there before the launch: nothing was "
                      "written to row {}{}.",
                      count, given.rows, count == 1 ? "is" : "are", before, first_wrong(observations[0]),
                      count == 1 ? "" : " and to others"),
          true};
}

Diagnosis from_transposed(const Case& given, std::span<const RowObservation> observations) {
  const std::size_t rows = given.rows, columns = given.n / given.rows;
  const bool fits = all_of(observations, [=](const RowObservation& seen) {
    for (std::size_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (std::size_t column = 0; column < columns; ++column) sum += (*seen.input)[column * rows + row];
      if (sum != seen.got[row]) return false;
    }
    return true;
  });
  if (!fits) return {};
  return {"transposed",
          "Each sum is what results when the matrix is read as if it were stored column after column. It is "
          "stored row after row: element `column` of row `row` is number row * columns + column.",
          true};
}

// Sums that continue from that of an earlier row.
Diagnosis from_running_total(const Case& given, std::span<const RowObservation> observations) {
  const std::size_t apart = first_wrong(observations[0]);
  if (apart == 0) return {};
  const bool fits = all_of(observations, [=](const RowObservation& seen) {
    for (std::size_t row = 0; row < given.rows; ++row) {
      if (seen.got[row] != seen.expected[row] + (row < apart ? 0 : seen.got[row - apart])) return false;
    }
    return true;
  });
  if (!fits) return {};
  return {
      "running-total",
      fmt::format("The result of row {0} is its own sum plus the result of row 0, and so on, {0} rows apart: "
                  "a thread, warp or block that takes several rows must start each of them from 0.",
                  apart),
      true};
}

// Whole rows in the wrong places.
Diagnosis from_other_row(const Case& given, std::span<const RowObservation> observations) {
  const std::size_t row = first_wrong(observations[0]);
  for (std::size_t other = 0; other < given.rows; ++other) {
    const bool fits = all_of(observations, [=](const RowObservation& seen) {
      return seen.got[row] != seen.expected[row] && seen.got[row] == seen.expected[other];
    });
    if (fits) {
      return {"other-row", fmt::format("The result in the place of row {} is the sum of row {}.", row, other),
              true};
    }
  }
  return {};
}

// The first wrong row, as a sum of its own by a block or by a warp.
Diagnosis from_one_row(const Case& given, std::span<const RowObservation> observations) {
  const std::size_t row = first_wrong(observations[0]), columns = given.n / given.rows;
  std::vector<Sequence> inputs;
  for (const RowObservation& seen : observations) {
    const Sequence& matrix = *seen.input;
    const std::size_t width = size_of(matrix.type);
    const auto first = matrix.values.begin() + static_cast<std::ptrdiff_t>(row * columns * width);
    inputs.push_back({matrix.type,
                      matrix.kind,
                      matrix.op,
                      columns,
                      columns,
                      matrix.seed,
                      {first, first + static_cast<std::ptrdiff_t>(columns * width)}});
  }
  for (const unsigned threads : {given.block, 32u}) {
    Symptom symptom{{given.kind, columns, 1, threads, 0}, 1, {}, {}, true};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      symptom.observations.push_back({&inputs[i], observations[i].expected[row], observations[i].got[row]});
    }
    Diagnosis found = diagnose(symptom);
    if (found.kind.empty()) continue;
    found.text = fmt::format("Row {}: {}", row, found.text);
    return found;
  }
  return {};
}

} // namespace

Diagnosis diagnose_rows(const Case& given, std::span<const RowObservation> observations) {
  const bool wrong =
      all_of(observations, [](const RowObservation& seen) { return first_wrong(seen) < seen.got.size(); });
  if (given.kind != Kind::exact || observations.empty() || !wrong) return {};
  if (Diagnosis found = from_untouched(given, observations); !found.kind.empty()) return found;
  if (given.n == 0 || observations[0].input->period < given.n) return {};
  for (const auto look : {from_transposed, from_running_total, from_other_row, from_one_row}) {
    if (Diagnosis found = look(given, observations); !found.kind.empty()) return found;
  }
  return {};
}

} // namespace lab
