// Elements that count more than once in a result, or negatively: where one became several.
#pragma once

#include "explain/element_words.hpp"
#include "explain/followed_result.hpp"
#include "explain/what_threads_read.hpp"

namespace lab {

// Elements that count equally often, shown by the first of them. Empty if there is nothing to say.
Finding counted_often(const FollowedResult& result, const Indices& elements, WhatThreadsRead& reads);

} // namespace lab
