// One cause, one hazard: what follows from another hazard is not reported beside it.
#pragma once

#include "run/recorded.hpp"

namespace lab {

// The causes, in the order in which they were seen. What nothing has written comes last: something may have
// kept another thread from writing it.
std::vector<Hazard> causes_among(std::vector<Hazard> hazards);

} // namespace lab
