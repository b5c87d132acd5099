// Writes what is known before Ctrl-C, a time limit or a scheduler ends the process.
#pragma once

namespace warpfold::runtime {

class Runtime;

// From now on, SIGINT and SIGTERM stop the running kernel, write the report (if one is wanted), and then end
// the process as they would have. If the program has its own handler, or ignores the signal, that remains in
// effect.
void report_before_signals_end_this_process(Runtime& runtime);

// Ends the process as the signal would, after writing the report and printing what is known. A fault handler
// may call it: another thread does the work.
[[noreturn]] void end_this_process_by(int signal);

// Does not return once such a signal has come: a program whose kernel it stopped must not continue as if
// after an error.
void stay_if_a_signal_ends_this_process();

} // namespace warpfold::runtime
