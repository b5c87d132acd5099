// What is known is written down before Ctrl-C, a time limit or a scheduler ends the process.
#pragma once

namespace warpfold::runtime {

class Runtime;

// From now on SIGINT and SIGTERM stop the kernel that runs, write the report (where one is wanted), and then
// end the process as they would have. Where the program has a handler of its own, or ignores the signal, that
// stands.
void report_before_signals_end_this_process(Runtime& runtime);

// Ends the process as the signal would, after the report is written and what is known is said. A handler of a
// fault may call it: another thread does the work.
[[noreturn]] void end_this_process_by(int signal);

// Does not return once such a signal has come: a program whose kernel was stopped by it shall not go on as if
// by an error.
void stay_if_a_signal_ends_this_process();

} // namespace warpfold::runtime
