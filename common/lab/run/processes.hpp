// Runs this program again, because a kernel that faults destroys the process's device context.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace lab {

struct ChildOutput {
  int exit_code = 0;
  std::string output; // of stdout, if it was asked for
};

// Runs the program with the same arguments, but only for these rungs. With `as_json`, it runs with --json
// instead of --tap and returns stdout; otherwise the child prints its own output.
// A signal that asks this process to end is passed on to the child (forward_to_child, from a signal handler),
// which still returns what it has found. The child ends with this process, however this process ends.
// `under`: a command that starts it, such as mpirun -n 4, or nothing.
ChildOutput run_again_for(char** argv, std::span<const std::string> rungs, bool as_json,
                          std::span<const std::string> under = {});

// The JSON that this rung gives on the emulator, with the same arguments otherwise, and nothing else that is
// printed there. "" if it gives none.
std::string json_on_emulator(char** argv, const std::string& rung);

// For a child that was started elsewhere; 0: it has ended.
void note_child(int process);
bool child_is_running();
void forward_to_child(int signal);

// The arguments that the child gets (tests look at them).
std::vector<std::string> arguments_for(char** argv, std::span<const std::string> rungs, bool as_json);

// While this object lives, or until end(), output to stdout goes to stderr; if not `wanted`, it does nothing.
// It does not survive an exec.
class StdoutAside {
public:
  explicit StdoutAside(bool wanted);
  ~StdoutAside() { end(); }
  StdoutAside(const StdoutAside&) = delete;
  StdoutAside& operator=(const StdoutAside&) = delete;
  void end();

private:
  int real_ = -1;
};

} // namespace lab
