// What the parts of the order's bookkeeping share (ordering.hpp): what is known, under one lock, and what is
// being done on a thread.
#pragma once

#include "runtime/memory/memory_contents.hpp"
#include "runtime/ordering/ordering.hpp"
#include "runtime/runtime.hpp"

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

namespace warpfold::runtime::ordering {

using analysis::HazardCause;
using analysis::HazardKind;
using analysis::Operation;
using analysis::Touch;
using analysis::TouchedRange;

// What is being done on a thread.
struct Current {
  Operation operation;
  analysis::HostOrder::Stream stream = 0;
  bool host_waits = false;
  bool meets_host = false; // a host function, while which the host goes on
  bool in_graph = false;
  bool in_own_stream = false;                            // one that the program made
  std::optional<MemoryContents> before;                  // what the host function may write to
  std::set<std::pair<std::uint32_t, std::uint32_t>> met; // reported: operations whose memory it accessed
  Current* outer = nullptr;
};
// In the static thread-local block: a signal handler reads it.
extern __attribute__((tls_model("initial-exec"))) constinit thread_local Current* current;

struct Issued : Current {};

// A kernel, as an operation of the order.
struct Launched {
  int device = 0;
  std::uint32_t actor = 0, number = 0;
};

struct State {
  std::recursive_mutex mutex; // after the one of StreamTable, if both are taken
  analysis::HostOrder order;
  std::array<analysis::HostOrder::Stream, machine::most_devices> legacy{}; // by device; 0: none yet
  std::map<analysis::HostOrder::Stream, analysis::Clock> asked;            // what a query said no to
  analysis::Clock perhaps_known;                                           // to the host: host_functions.hpp
  std::vector<Launched> launched; // those that the host has not waited for
  bool has_streams = false;       // others than the one that waits for all
  std::thread::id issuer;
  bool several_issuers = false; // threads of the program that issue work
  bool has_warned_of_pageable = false;
  bool closed = false;                                                  // some of the host's memory
  std::set<std::tuple<std::string, std::string, std::string>> reported; // two places, and what is wrong

  static State& get() {
    static State& state = *new State;
    return state;
  }
};

inline bool is_on() {
  return Runtime::get().options.check_races.load(std::memory_order_relaxed);
}

// Before the thread issues work or waits for some, unless it is doing some.
inline void learn_from_host_functions(State& state) {
  if (!current && !state.order.host_knows(state.perhaps_known)) state.order.host_waits(state.perhaps_known);
}

// ordering_streams.cpp
analysis::HostOrder::Stream legacy_of(State& state, int device); // its default stream
bool is_per_thread(cudaStream_t stream);
bool is_default(cudaStream_t stream); // the one that waits for all blocking streams of its device
analysis::HostOrder::Stream number_of(State& state, cudaStream_t handle);
std::string name_of(cudaStream_t handle);

// ordering_reports.cpp
void add(HazardCause cause, const std::string& message, const Operation* later, const Operation* earlier,
         HazardKind kind = HazardKind::race_host);
bool is_new(State& state, const std::string& a, const std::string& b, const std::string& what);
std::string site_of(const Operation& operation);
std::string place_of(std::uint64_t address);
// `what`: of which races with earlier work are no longer looked for.
void report_not_checked(State& state, const std::string& what, const Operation* later);
void report_streams(State& state, const Operation& earlier, const TouchedRange& other, const Operation& later,
                    const TouchedRange& mine);

// ordering_host_memory.cpp: what is in flight is closed to the host, so that its own loads and stores are
// noticed.
void close_what_is_in_flight(State& state, const analysis::Clock* view);
void open_to_all(State& state);

} // namespace warpfold::runtime::ordering
