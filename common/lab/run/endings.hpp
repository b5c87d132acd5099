// What is said of a run that did not come to its end.
#pragma once

#include <string>

namespace lab {

// What is said of a host function that a signal ended, and of one that does not return; with the line where
// it is, if that is known.
std::string crash_text(int signal);
std::string no_return_text();

} // namespace lab
