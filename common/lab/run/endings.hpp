// What is said of a run that did not come to its end.
#pragma once

#include <exception>
#include <string>

namespace lab {

// What is said of a host function that a signal ended, and of one that does not return; with the line where
// it is, if that is known.
std::string crash_text(int signal);
std::string no_return_text();
// What is said of an exception that a host function does not catch.
std::string exception_text(const std::exception& error);
// What is said of a host function that ended the program by this call, "exit(0)"; likewise.
std::string exit_text(const std::string& call);

} // namespace lab
