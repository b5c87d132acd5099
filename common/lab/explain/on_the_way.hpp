// What happened to values on the way to a result, whatever became of single elements. The graph must have the
// result; sentences are "" and kinds empty if there is nothing to say.
#pragma once

#include "explain/diagnosis.hpp"
#include "explain/followed_result.hpp"

#include <string>
#include <vector>

namespace lab {

// The computed values that the result depends on, in time.
std::vector<NodeId> computed_on_the_way(const FollowedResult& result);

// The first step that makes an infinity or a NaN of what is none.
std::string first_not_finite(const FollowedResult& result);
// The first use of a result in which nothing has been stored, by a kernel that takes the results for its
// input.
std::string unwritten_result_read(const FollowedResult& result);
// Which elements of its row a result has nothing of, and which it has of other rows. Of functions of rows:
// their results depend on the whole row; an element that is masked may be left out.
std::string unreached(const FollowedResult& result);
// The first step that rounds to a float, although the elements are no floats.
Diagnosis rounded_to_float(const FollowedResult& result);
// The first conversion to an integer that changes the number.
Diagnosis lost_bits(const FollowedResult& result);

} // namespace lab
