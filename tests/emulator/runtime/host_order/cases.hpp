// Small programs by name: CASE(name, expected) { body }. `expected` is "clean" or describes what the report
// must say: the kinds of all hazards, with | between, a colon, and a regular expression for the message of
// one. The lines at fault end with "// here" and, for the other place, "// there".
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include <cuda_runtime.h>

struct Case {
  const char* expected;
  void (*body)();
};
inline std::map<std::string, Case>& cases() {
  static std::map<std::string, Case> all;
  return all;
}
struct Registered {
  Registered(const char* name, const char* expected, void (*body)()) { cases()[name] = {expected, body}; }
};
#define CASE(name, expected)                                                                                 \
  static void name();                                                                                        \
  static const Registered registered_##name(#name, expected, name);                                          \
  static void name()

// A program that is ended by a signal and so has no report.
#define SIGNAL_CASE(name) CASE(name, nullptr)

inline void must(cudaError_t error, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(error));
  std::exit(2);
}
#define OK(call) must(call, __LINE__)

inline int run_case(int argc, char** argv) {
  if (argc != 2) {
    for (const auto& [name, each] : cases())
      if (each.expected) std::printf("%s\t%s\n", name.c_str(), each.expected);
    return 0;
  }
  const auto found = cases().find(argv[1]);
  if (found == cases().end()) return 3;
  found->second.body();
  return 0;
}

// A number that the compiler cannot optimise away.
inline volatile int sink;
