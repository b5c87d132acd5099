#include "built_ins.hpp"

#include <algorithm>

namespace warpfold::opencl {
namespace {

// Functions of one element, for all sizes of vectors.
constexpr const char* for_all_vectors = R"(
#define OVERLOADED __attribute__((overloadable, always_inline))
#define TWICE(f, T, N) OVERLOADED T##N f(T##N x) { return (T##N)(f(x.lo), f(x.hi)); }
#define UNARY(f, T) \
  TWICE(f, T, 2) TWICE(f, T, 4) TWICE(f, T, 8) TWICE(f, T, 16) \
  OVERLOADED T##3 f(T##3 x) { return (T##3)(f(x.xy), f(x.z)); }
#define BINARY_TWICE(f, T, U, N) \
  OVERLOADED T##N f(T##N x, U##N y) { return (T##N)(f(x.lo, y.lo), f(x.hi, y.hi)); }
#define BINARY(f, T, U) \
  BINARY_TWICE(f, T, U, 2) BINARY_TWICE(f, T, U, 4) BINARY_TWICE(f, T, U, 8) BINARY_TWICE(f, T, U, 16) \
  OVERLOADED T##3 f(T##3 x, U##3 y) { return (T##3)(f(x.xy, y.xy), f(x.z, y.z)); }
#define ALL_SIZES(M, T) M(T) M(T##2) M(T##3) M(T##4) M(T##8) M(T##16)
)";

// The device's own approximations, as CUDA's __sinf and so on use them (PTX ISA, sin.approx and its like).
constexpr const char* native_functions = R"(
#define APPROXIMATION(f, instruction) \
  OVERLOADED float f(float x) { \
    float result; \
    __asm__(instruction ".approx.f32 %0, %1;" : "=f"(result) : "f"(x)); \
    return result; \
  } \
  UNARY(f, float)
#define COMPOSED(f, expression) \
  OVERLOADED float f(float x) { return expression; } \
  UNARY(f, float)
APPROXIMATION(native_sin, "sin")
APPROXIMATION(native_cos, "cos")
APPROXIMATION(native_exp2, "ex2")
APPROXIMATION(native_log2, "lg2")
COMPOSED(native_exp, native_exp2(x * M_LOG2E_F))
COMPOSED(native_exp10, native_exp2(x * 3.32192809f))
COMPOSED(native_log, native_log2(x) * M_LN2_F)
COMPOSED(native_log10, native_log2(x) * 0.301029996f)
COMPOSED(native_tan, native_sin(x) / native_cos(x))
OVERLOADED float native_powr(float x, float y) { return native_exp2(y * native_log2(x)); }
BINARY(native_powr, float, float)
)";

constexpr const char* mad_hi_functions = R"(
#define MAD_HI(T) OVERLOADED T mad_hi(T a, T b, T c) { return mul_hi(a, b) + c; }
ALL_SIZES(MAD_HI, char) ALL_SIZES(MAD_HI, uchar) ALL_SIZES(MAD_HI, short) ALL_SIZES(MAD_HI, ushort)
ALL_SIZES(MAD_HI, int) ALL_SIZES(MAD_HI, uint) ALL_SIZES(MAD_HI, long) ALL_SIZES(MAD_HI, ulong)
)";

// libclc 14's ldexp makes infinity of a double that is no number, and its sub_sat and mad_sat do not always
// saturate where they should, or do where they should not. The instruction keeps LLVM from seeing a rotation:
// up to version 16 it drops the reduction of a 64-bit count, and PTX shifts by more than 63 to 0.
constexpr const char* mended_functions = R"(
__attribute__((overloadable)) double __clc_ldexp(double x, int n);
OVERLOADED double ldexp(double x, int n) { return isnan(x) ? x : __clc_ldexp(x, n); }
BINARY(ldexp, double, int)
#define ONE_COUNT(N) OVERLOADED double##N ldexp(double##N x, int n) { return ldexp(x, (int##N)n); }
ONE_COUNT(2) ONE_COUNT(3) ONE_COUNT(4) ONE_COUNT(8) ONE_COUNT(16)
OVERLOADED ulong rotate(ulong x, ulong count) {
  ulong reduced;
  __asm__("and.b64 %0, %1, 63;" : "=l"(reduced) : "l"(count));
  return reduced ? x << reduced | x >> (64 - reduced) : x;
}
OVERLOADED long rotate(long x, long count) { return as_long(rotate(as_ulong(x), as_ulong(count))); }
BINARY(rotate, ulong, ulong)
BINARY(rotate, long, long)
OVERLOADED int sub_sat(int x, int y) { return (int)clamp((long)x - y, (long)INT_MIN, (long)INT_MAX); }
OVERLOADED long sub_sat(long x, long y) {
  const long difference = as_long(as_ulong(x) - as_ulong(y));
  return ((x ^ y) & (x ^ difference)) < 0 ? x < 0 ? LONG_MIN : LONG_MAX : difference;
}
BINARY(sub_sat, int, int)
BINARY(sub_sat, long, long)
OVERLOADED long mad_sat(long a, long b, long c) {
  const ulong product = as_ulong(a) * as_ulong(b), sum = product + as_ulong(c);
  const long upper = mul_hi(a, b) + (c >> 63) + (sum < product);
  return upper == (as_long(sum) >> 63) ? as_long(sum) : upper < 0 ? LONG_MIN : LONG_MAX;
}
#define MAD_SAT_TWICE(N) OVERLOADED long##N mad_sat(long##N a, long##N b, long##N c) { \
  return (long##N)(mad_sat(a.lo, b.lo, c.lo), mad_sat(a.hi, b.hi, c.hi)); }
MAD_SAT_TWICE(2) MAD_SAT_TWICE(4) MAD_SAT_TWICE(8) MAD_SAT_TWICE(16)
OVERLOADED long3 mad_sat(long3 a, long3 b, long3 c) {
  return (long3)(mad_sat(a.xy, b.xy, c.xy), mad_sat(a.z, b.z, c.z));
}
)";

// libclc lacks the first three for vectors of three, and the last for edges that are doubles.
constexpr const char* lacking_sizes = R"(
#define OWN_ITEM (get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2)))
#define ITEMS (get_local_size(0) * get_local_size(1) * get_local_size(2))
#define ASYNC_COPY(T, to, from, to_stride, from_stride) \
  OVERLOADED event_t async_work_group_strided_copy(to T* d, const from T* s, size_t n, size_t stride, event_t e) { \
    for (size_t i = OWN_ITEM; i < n; i += ITEMS) d[i * to_stride] = s[i * from_stride]; \
    return e; \
  } \
  OVERLOADED event_t async_work_group_copy(to T* d, const from T* s, size_t n, event_t e) { \
    return async_work_group_strided_copy(d, s, n, 1, e); \
  }
#define ASYNC(T) \
  ASYNC_COPY(T##3, local, global, 1, stride) ASYNC_COPY(T##3, global, local, stride, 1) \
  OVERLOADED void prefetch(const global T##3* s, size_t n) {}
ASYNC(char) ASYNC(uchar) ASYNC(short) ASYNC(ushort) ASYNC(int) ASYNC(uint) ASYNC(long) ASYNC(ulong)
ASYNC(float) ASYNC(double)
#define SMOOTHSTEP(N) OVERLOADED double##N smoothstep(double a, double b, double##N x) { \
  const double##N t = clamp((x - a) / (b - a), 0.0, 1.0); \
  return t * t * (3 - 2 * t); }
SMOOTHSTEP(2) SMOOTHSTEP(3) SMOOTHSTEP(4) SMOOTHSTEP(8) SMOOTHSTEP(16)
)";

// `volatile`, since the driver writes what the program takes for constant.
constexpr const char* launch_values = R"(
volatile constant ulong warpfold_launch_values[4] = {0};
__attribute__((overloadable)) uint get_work_dim(void) { return warpfold_launch_values[3]; }
__attribute__((overloadable)) size_t get_global_offset(uint d) {
  return d < 3 ? warpfold_launch_values[d] : 0;
}
__attribute__((overloadable)) size_t get_global_id(uint d) {
  return get_group_id(d) * get_local_size(d) + get_local_id(d) + get_global_offset(d);
}
)";

} // namespace

std::string launch_values_source() {
  return launch_values;
}

std::string own_functions_source() {
  return std::string(for_all_vectors) + native_functions + mad_hi_functions + mended_functions +
         lacking_sizes;
}

bool may_need_own_functions(const std::string& llvm) {
  const auto names = {"native_", "mad_hi",           "ldexp",    "rotate",    "sub_sat",
                      "mad_sat", "async_work_group", "prefetch", "smoothstep"};
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return llvm.find(name) != llvm.npos; });
}

} // namespace warpfold::opencl
