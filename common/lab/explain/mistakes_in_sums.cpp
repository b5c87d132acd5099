#include "explain/hypotheses.hpp"

namespace lab {

Places::Places(const Sequence& input, unsigned block) : residue(2 * std::size_t{block}) {
  for (std::size_t i = 0; i < input.n; ++i) residue[i % residue.size()] += input[i];
  for (const double sum : residue) total += sum;
}

double Places::where(const std::function<bool(unsigned)>& kept) const {
  double sum = 0;
  for (unsigned r = 0; r < residue.size(); ++r) {
    if (kept(r)) sum += residue[r];
  }
  return sum;
}

std::vector<Hypothesis> mistakes_in_sums(const Symptom& symptom) {
  Hypotheses all(symptom);
  add_whole(all);
  add_shards(all);
  add_prefixes(all);
  add_threads(all);
  add_steps(all);
  add_walks(all);
  add_signs(all);
  add_widths(all);
  add_extremes(all);
  add_identity(all);
  all.add(
      "nothing-added", [](const View&) { return 0.0; },
      [] { return std::string("The result is 0, as if no element had been added."); }, false);
  return std::move(all.found);
}

} // namespace lab
