// Elements that a thread has read and that are not in the result: what became of them.
#pragma once

#include "explain/element_words.hpp"
#include "explain/followed_result.hpp"

namespace lab {

// `missing` elements are not in the result; these are those of them that were read. Empty if there is nothing
// to say.
Finding lost_elements(const FollowedResult& result, const Indices& elements, std::size_t missing);

} // namespace lab
