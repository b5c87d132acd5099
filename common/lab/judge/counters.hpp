#pragma once

#include "promises/rung.hpp"
#include "run/recorded.hpp"

#include <string_view>

namespace lab {

// The value of a counter, as promised_counters.def says.
double value_of(Counter counter, const Profile& profile, Type type);
std::string_view name_of(Counter counter);
std::string_view noun_of(Counter counter);

} // namespace lab
