// How long a rung takes on a GPU.
//
// A run is what the rung's host function does, between two CUDA events on the default stream: all launches,
// memsets and copies. Inputs rotate through memory several times the size of L2, so that no run finds its
// input there ("cold"). After a warm-up, runs are repeated until the quartiles are within 2 % of the median
// (41 runs at least, or as many as fit into half a second). The figure is the median; the quartiles are
// shown beside it. An empty launch takes about 5 microseconds by this method. A rung over several devices is
// timed by the host's clock instead, until all of them are idle, and its input does not rotate; bandwidths
// are those of all devices together.
#pragma once

#include "promises/rung.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace lab {

// Microseconds of one run of a rung; above for the figures.
struct Timing {
  std::size_t n = 0, rows = 1, repetitions = 0;
  unsigned block = 0;
  double median = 0, low = 0, high = 0; // low, high: the quartiles
  double bytes_per_second = 0;
  double peak_bandwidth = 0;     // by the device's attributes; 0 unknown
  double measured_bandwidth = 0; // bytes per second of this library's own reading kernel
  double cpu_loop = 0;           // microseconds of a plain loop on one CPU thread
  double speed_up_over_cpu = 0, speed_up_over_rung_before = 0; // 0: not known
};

// Everything except the comparisons with the CPU and the previous rung. Throws DeviceError. GPU only: on the
// emulator a time says nothing about a GPU.
Timing time_variant(const Rung& rung, const Variant& variant, std::size_t n, unsigned block,
                    std::uint64_t seed, std::optional<std::size_t> asked_rows);

// Bytes per second of the reading kernel of bandwidth.hpp, the best of a few grids; measured once per
// process.
double measured_bandwidth();

// Microseconds of a plain loop on one CPU thread over n values of the type, median of three. Beyond 2^28
// values, it is extrapolated from 2^28.
double cpu_loop(Type type, Operator op, std::size_t n);

} // namespace lab
