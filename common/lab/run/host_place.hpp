// Where the main thread is in the program's source, for a crash or a run that does not end: asked from the
// watchdog's thread, or by the handler of the signal that the crash is.
#pragma once

#include <string>

namespace lab {

// Once, by the main thread.
void remember_main_thread();

// By a signal's handler, with the context that it was given: notes the thread's place for host_place().
void note_host_place(const void* context);

// Likewise by a function that is called in place of going on, with the address to which it would return.
void note_host_place_of_call(const void* return_address);

// By another thread: has the main thread note its place. It may be in the middle of anything.
void ask_for_host_place();

// "file.cu:12" of what was noted: the line of the program at which the thread is, or from which it has called
// the system or another library. "" if the thread is in the lab library, or if no line is known: without
// addr2line or debug information.
std::string host_place();

} // namespace lab
