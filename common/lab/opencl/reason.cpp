#include "opencl/reason.hpp"

#include "explain/diagnosis.hpp"
#include "explain/weights.hpp"

#include <fmt/format.h>

namespace lab::opencl {

Diagnosis diagnose_wrong(const Rung& rung, const Case& given, const Sequence& input, const Tried& tried,
                         const SearchForReasons& search) {
  const Sequence other = with_other_numbers(input);
  const auto result_on = [&](const Sequence& sequence) { return try_case(rung, given, sequence).got; };
  Symptom symptom{given, static_cast<unsigned>(tried.groups), {}, {}};
  symptom.observations.push_back({&input, reduce(input, 0, given.n).value, tried.got});
  symptom.again.push_back(result_on(input));
  symptom.observations.push_back({&other, reduce(other, 0, given.n).value, result_on(other)});
  Diagnosis found = diagnose(symptom);
  if (found.kind == "not-a-number")
    found.text =
        "The result is not a number: the check puts NaN into all memory that nothing has written, local "
        "memory too, and beyond both ends of each array, so some of that was used. Is each index below n (<, "
        "not <=), or below the size of the group, and is each element written before it is read?";
  if (!found.kind.empty()) return found;
  const Tried backwards = try_case(rung, given, input, Order::backwards);
  if (backwards.got != tried.got)
    return {"order-of-items",
            fmt::format("With the items of a work-group in the opposite order, the last one first, it is "
                        "{:.9g}: in one step, an item reads what another item of its group changes (a "
                        "race), or what no item has written. Do two items use the same element?",
                        backwards.got),
            true};
  const auto weights = find_weights(symptom, [&](const Sequence& probe) -> std::optional<double> {
    return search.is_over() ? std::nullopt : std::optional(result_on(probe));
  });
  return weights ? describe(*weights, symptom) : found;
}

} // namespace lab::opencl
