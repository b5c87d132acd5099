// Built-in functions, compared with the host's arithmetic: the largest difference in units in the last place.
#include "opencl.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

constexpr std::size_t count = 256;

struct Function {
  std::string expression; // of a, b and c
  std::function<double(double, double, double)> host;
  double allowed; // OpenCL 1.2, section 7.4, in ulp
};

#define ONE(name, host_name, allowed)                                                                        \
  {                                                                                                          \
#name "(a)", [](double a, double, double) { return std::host_name(a); }, allowed                         \
  }
#define TWO(name, host_name, allowed)                                                                        \
  {                                                                                                          \
#name "(a, b)", [](double a, double b, double) { return std::host_name(a, b); }, allowed                 \
  }
#define THREE(text, value, allowed)                                                                          \
  {                                                                                                          \
    text,                                                                                                    \
        []([[maybe_unused]] double a, [[maybe_unused]] double b, [[maybe_unused]] double c) -> double {      \
          return value;                                                                                      \
        },                                                                                                   \
        allowed                                                                                              \
  }

const std::vector<Function>& functions() {
  constexpr double pi = 3.14159265358979323846;
  static const std::vector<Function> all{
      ONE(acos, acos, 4),
      ONE(asin, asin, 4),
      ONE(atan, atan, 5),
      ONE(cbrt, cbrt, 2),
      ONE(ceil, ceil, 0),
      ONE(cos, cos, 4),
      ONE(cosh, cosh, 4),
      ONE(erf, erf, 16),
      ONE(exp, exp, 3),
      ONE(exp2, exp2, 3),
      ONE(expm1, expm1, 3),
      ONE(fabs, fabs, 0),
      ONE(floor, floor, 0),
      ONE(log, log, 3),
      ONE(log10, log10, 3),
      ONE(log1p, log1p, 2),
      ONE(log2, log2, 3),
      ONE(rint, nearbyint, 0),
      ONE(round, round, 0),
      ONE(sin, sin, 4),
      ONE(sinh, sinh, 4),
      ONE(sqrt, sqrt, 3),
      ONE(tan, tan, 5),
      ONE(tanh, tanh, 5),
      ONE(tgamma, tgamma, 16),
      ONE(trunc, trunc, 0),
      TWO(atan2, atan2, 6),
      TWO(copysign, copysign, 0),
      TWO(fdim, fdim, 0),
      TWO(fmax, fmax, 0),
      TWO(fmin, fmin, 0),
      TWO(fmod, fmod, 0),
      TWO(hypot, hypot, 4),
      TWO(pow, pow, 16),
      TWO(remainder, remainder, 0),
      THREE("fma(a, b, c)", static_cast<float>(std::fma(a, b, c)), 0),
      THREE("rsqrt(a)", 1 / std::sqrt(a), 2),
      THREE("exp10(a)", std::pow(10, a), 3),
      THREE("sinpi(a)", std::sin(pi * a), 4),
      THREE("a / b", a / b, 2.5),
      THREE("mad(a, b, c)", a * b + c, 8),
      THREE("clamp(a, 0.25f, 0.5f)", std::clamp(a, 0.25, 0.5), 0),
      THREE("mix(a, b, c)", a + (b - a) * c, 8),
      THREE("step(a, b)", b < a ? 0 : 1, 0),
      THREE("sign(a)",
            a > 0   ? 1
            : a < 0 ? -1
                    : 0,
            0),
      THREE("degrees(a)", a * 180 / pi, 2),
      THREE("ldexp(a, 3)", a * 8, 0),
      THREE("pown(a, 3)", a * a * a, 16),
      THREE("length((float2)(a, b))", std::sqrt(a * a + b * b), 3),
      THREE("dot((float2)(a, b), (float2)(c, 1))", a * c + b, 8),
      THREE("select(a, b, isless(b, a))", b < a ? b : a, 0),
      THREE("convert_int_rtz(8 * a)", std::trunc(8 * a), 0),
      THREE("convert_uchar_sat(400 * (a - 0.3f))", std::clamp(std::trunc(400 * (a - 0.3)), 0.0, 255.0), 1),
      THREE("as_float(as_int(a) ^ as_int(a) ^ as_int(b))", b, 0),
      THREE("native_sin(a)", std::sin(a), 64),
      THREE("native_exp2(a)", std::exp2(a), 64),
      THREE("native_log2(a + 2)", std::log2(a + 2), 64),
      THREE("half_cos(a)", std::cos(a), 8192),
      THREE("max(convert_int(100 * a), 20)", std::max(std::trunc(100 * a), 20.0), 0),
      THREE("mul_hi(0x40000000, convert_int(100 * a) * 4)", std::trunc(100 * a), 0),
      THREE("mad_hi(0x40000000, convert_int(100 * a) * 4, 5)", std::trunc(100 * a) + 5, 0),
      THREE("popcount(convert_uint(100 * a) & 7u)", __builtin_popcount(static_cast<unsigned>(100 * a) & 7),
            0),
      THREE("clz(convert_uint(100 * a) + 1)", __builtin_clz(static_cast<unsigned>(100 * a) + 1), 0),
      THREE("rotate(1, convert_int(10 * a))", 1 << static_cast<int>(10 * a), 0),
      THREE("(uint)(rotate((ulong)1, (ulong)(100 * a) + 64) >> 32) + (uint)rotate(1L, (long)(100 * a) + 128)",
            std::exp2(static_cast<int>(100 * a) % 32), 0),
      THREE("rotate((long2)(5, 5), (long2)(63, 65)).y", 10, 0),
      THREE("isnan(ldexp((double)a * NAN, 4))", 1, 0),
      THREE("isnan(ldexp((double3)(a, NAN, -NAN), (int3)(1, 2, 3))).z", -1, 0),
      THREE("ldexp((double2)(a, b), 3).y", b * 8, 0),
      THREE("sub_sat(0, INT_MIN) == INT_MAX && sub_sat(-2, INT_MAX) == INT_MIN && sub_sat(5, 7) == -2", 1, 0),
      THREE("sub_sat((long2)(0, 1), (long2)(LONG_MIN, 3)).x == LONG_MAX", 1, 0),
      THREE("mad_sat(0L, -5L, 10L) == 10 && mad_sat(LONG_MAX, 2L, 0L) == LONG_MAX", 1, 0),
      THREE("mad_sat(LONG_MIN, 1L, -1L) == LONG_MIN && mad_sat(-3L, 4L, 2L) == -10", 1, 0),
      THREE("native_powr(a + 1, 3.0f)", std::pow(a + 1, 3), 64),
      THREE("(float)tan(1e10 + 0 * a)", std::tan(1e10), 4),
      THREE("(float)smoothstep(0.0, 1.0, (double4)(a)).w", a * a * (3 - 2 * a), 4),
      THREE("add_sat((uchar)250, convert_uchar(10 * a))", std::min(255.0, 250 + std::trunc(10 * a)), 0),
      THREE("hadd(convert_int(100 * a), 5)", std::floor((std::trunc(100 * a) + 5) / 2), 0),
      THREE("abs_diff(convert_int(100 * a), 50)", std::abs(std::trunc(100 * a) - 50), 0),
      THREE("shuffle((float4)(a, b, c, 0), (uint4)(2, 1, 0, 3)).x", c, 0),
      THREE("(float)(((double)a * 3.0) + 1.0e-3)", static_cast<float>(a * 3.0 + 1.0e-3), 0),
  };
  return all;
}

double ulps(float found, double wanted) {
  const auto nearest = static_cast<float>(wanted);
  if (found == nearest) return 0;
  const float next = std::nextafter(std::fabs(nearest), INFINITY);
  return std::fabs(found - wanted) / (next - std::fabs(nearest));
}

int main() {
  const Session session;
  std::string source;
  for (std::size_t i = 0; i < functions().size(); ++i)
    source += "kernel void f" + std::to_string(i) +
              "(global const float* in, global float* out) { const int i = get_global_id(0);"
              " const float a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2]; out[i] = " +
              functions()[i].expression + "; }\n";
  const cl_program program = session.built(source);
  std::vector<float> in(3 * count);
  std::uint32_t state = 1;
  for (float& value : in) { // above 0 and below 1
    state = state * 1664525 + 1013904223;
    value = static_cast<float>((state >> 9) + 1) / (1 << 23) * 0.99F;
  }
  const cl_mem input = session.buffer(in), output = session.buffer(std::vector<float>(count));
  int wrong = 0;
  for (std::size_t f = 0; f < functions().size(); ++f) {
    const cl_kernel kernel = clCreateKernel(program, ("f" + std::to_string(f)).c_str(), nullptr);
    set(kernel, 0, input);
    set(kernel, 1, output);
    require(clEnqueueNDRangeKernel(session.queue, kernel, 1, nullptr, &count, nullptr, 0, nullptr, nullptr),
            functions()[f].expression.c_str());
    const std::vector<float> out = session.contents<float>(output, count);
    double largest = 0;
    for (std::size_t i = 0; i < count; ++i)
      largest = std::max(largest, ulps(out[i], functions()[f].host(in[3 * i], in[3 * i + 1], in[3 * i + 2])));
    if (largest > functions()[f].allowed) {
      std::printf("%s: %g ulp, %g are allowed\n", functions()[f].expression.c_str(), largest,
                  functions()[f].allowed);
      ++wrong;
    }
    clReleaseKernel(kernel);
  }
  std::printf("%d wrong\n", wrong);
  clReleaseMemObject(input);
  clReleaseMemObject(output);
  clReleaseProgram(program);
}
