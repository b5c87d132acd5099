// This program, run again: a kernel that faults takes the process's device context with it.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace lab {

struct ChildOutput {
  int exit_code = 0;
  std::string output; // of stdout, where it was asked for
};

// Runs the program with the same arguments but for these rungs. `as_json`: with --json in place of --tap, and
// stdout is handed back; else the child prints for itself.
// A signal that asks this process to end asks the child to end (forward_to_child, from a signal's handler),
// which still hands back what it has found; and it ends with this process, however that ends.
ChildOutput run_again_for(char** argv, std::span<const std::string> rungs, bool as_json);

// For a child that was started elsewhere; 0: it has ended.
void note_child(int process);
bool child_is_running();
void forward_to_child(int signal);

// The arguments that it is given (tests look at them).
std::vector<std::string> arguments_for(char** argv, std::span<const std::string> rungs, bool as_json);

// While it lives, or until end(), what is written to stdout goes to stderr; where not `wanted`, nothing
// happens. Not across an exec.
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
