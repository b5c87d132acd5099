#include "opencl/reason.hpp"

#include "explain/diagnosis.hpp"

#include <fmt/format.h>

namespace lab::opencl {
namespace {

// The diagnoses use CUDA's terms.
std::string in_words_of_opencl(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"whole grid", "whole launch, get_global_size(0)"},
      {"blocks", "work-groups"},
      {"block", "work-group"},
      {"threads", "items"},
      {"thread", "item"}};
  for (const auto& [cuda, opencl] : words) {
    for (std::size_t at = 0; (at = text.find(cuda, at)) != text.npos; at += opencl.size())
      text.replace(at, cuda.size(), opencl);
  }
  return text;
}

} // namespace

Diagnosis diagnose_wrong(const Rung& rung, const Case& given, const Sequence& input, const Tried& tried) {
  const Sequence other = with_other_numbers(input);
  Symptom symptom{given, static_cast<unsigned>(tried.groups), {}, {}};
  symptom.observations.push_back({&input, reduce(input, 0, given.n).value, tried.got});
  symptom.again.push_back(try_case(rung, given, input).got);
  symptom.observations.push_back({&other, reduce(other, 0, given.n).value, try_case(rung, given, other).got});
  Diagnosis found = diagnose(symptom);
  if (found.kind == "not-a-number")
    found.text =
        "The result is not a number: the check puts NaN into all memory that nothing has written, local "
        "memory too, and beyond both ends of each array, so some of that was used. Is each index below n (<, "
        "not <=), or below the size of the group, and is each element written before it is read?";
  if (!found.text.empty()) return found.text = in_words_of_opencl(std::move(found.text)), found;
  const Tried backwards = try_case(rung, given, input, Order::backwards);
  if (backwards.got != tried.got)
    found = {"order-of-items",
             fmt::format("With the items of a work-group in the opposite order, the last one first, it is "
                         "{:.9g}: in one step, an item reads what another item of its group changes (a "
                         "race), or what no item has written. Do two items use the same element?",
                         backwards.got),
             true};
  return found;
}

} // namespace lab::opencl
