// One cause, one hazard: what follows from another hazard is not reported beside it.
#pragma once

#include "run/recorded.hpp"

namespace lab {

// The causes: those that explain most first, otherwise in the order in which they were seen.
std::vector<Hazard> causes_among(std::vector<Hazard> hazards);

} // namespace lab
