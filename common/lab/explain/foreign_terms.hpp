// What went into a result and is no element of its row, or is not what the operator makes of its operands.
#pragma once

#include "explain/followed_result.hpp"

namespace lab {

// The first step that is none of the operator's, such as a product in a sum.
Finding wrong_operation(const FollowedResult& result);
// The first value that takes part and is no element of the row.
Finding foreign_term(const FollowedResult& result);

} // namespace lab
