// A child process for kernels that may crash: on a CPU, kernels run inside the program that launches them,
// and a stray write can leave it in a state in which nothing works, not even a signal handler.
#pragma once

#include "judge/progress.hpp"

#include <functional>
#include <optional>
#include <string>

namespace lab::opencl {

// How far a child process has got, in memory that the parent sees. Texts are cut to fit.
class Trail {
public:
  Trail();
  ~Trail();
  Trail(const Trail&) = delete;
  Trail& operator=(const Trail&) = delete;

  void begins(const std::string& rung);
  void runs(const Check& check);         // the check is about to be made, or is known to be wrong
  void knows(const std::string& reason); // the reason to give, should the rung go wrong
  void ends();                           // the rung's result is out

  // Of the rung that was being checked, if any: for the parent, once the child is gone.
  std::optional<std::string> rung() const;
  Check check() const;
  std::string known() const;

private:
  struct Page;
  Page* page_;
};

// The program's only one. The first call is made before the child process is.
Trail& trail();

// Tells the session and, should this process end, its parent about a check.
void note(Progress& progress, const Check& check);

// Runs `body` in a child process and waits for it; signals that ask this process to end are passed on.
// Returns the child's exit code, or the signal that ended it.
struct Ended {
  int exit_code = 0, signal = 0;
};
Ended run_in_child(const std::function<int()>& body);

// In the child: a crash ends it at once, and the parent reports it.
void leave_crashes_to_the_parent();

// `with_advice`: if nothing better is known.
std::string crash_text(int signal, bool with_advice);

} // namespace lab::opencl
