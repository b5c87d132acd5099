// What mma computes, bit by bit: every shape on pseudo-random registers, and for each a hash of the results,
// so that a GPU and the emulator can be compared. matrix_sums.expect is what an H100 prints.
//
//   matrix_sums          the hashes
//   matrix_sums all      and each register of each result, in hexadecimal
//
// The registers are filled with bits, not with matrices, so that a wrong layout shows, too.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr unsigned lanes = 32, warps = 24, words = 48; // words: 16 each for A, B and the accumulators

enum class Kind { half, bfloat, tensor_float, real, integer };
enum class Sums { single, half, real, integer };

struct Random {
  std::uint64_t state;
  std::uint32_t next() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<std::uint32_t>(state >> 32);
  }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(std::uint64_t{next()} * n >> 32); }
};

// How the bits are chosen. `near`: exponents close to each other; `far`: many different ones; `sparse`: half
// of the numbers are 0; `tiny`: the smallest exponents, subnormal numbers among them; `any`: infinities and
// NaNs, too.
enum class Choice { whole, near, far, sparse, tiny, any };
constexpr const char* choices[] = {"whole", "near", "far", "sparse", "tiny", "any"};

// A number with `fraction` bits of fraction and a biased exponent.
std::uint64_t number(Random& random, Choice choice, unsigned fraction, unsigned exponents) {
  const std::uint64_t bits = std::uint64_t{random.next()} << 32 | random.next();
  const unsigned bias = (1u << (exponents - 1)) - 1, top = (1u << exponents) - 1;
  const std::uint64_t sign = bits >> 63 << (fraction + exponents), low = bits & ((1ull << fraction) - 1);
  const unsigned narrow = exponents < 11 ? 12 : 40;
  unsigned exponent = 0;
  switch (choice) {
  case Choice::whole: { // -7 to 7
    const unsigned value = random.below(8);
    if (value == 0) return sign;
    const unsigned log = value >= 4 ? 2 : value >= 2 ? 1 : 0;
    return sign | std::uint64_t{bias + log} << fraction |
           std::uint64_t{value - (1u << log)} << (fraction - log);
  }
  case Choice::near:
    exponent = bias - 2 + random.below(4);
    break;
  case Choice::sparse:
    if (random.below(8)) return sign;
    exponent = bias - 13 + random.below(26);
    break;
  case Choice::far:
    exponent = bias - narrow / 2 + random.below(narrow);
    break;
  case Choice::tiny:
    exponent = random.below(5);
    break;
  case Choice::any:
    exponent = random.below(8) ? bias - 3 + random.below(6) : random.below(2) ? top : random.below(top + 1);
    break;
  }
  return sign | std::uint64_t{exponent} << fraction | low;
}

// A register of factors, or two for a double.
void fill(Random& random, Kind kind, Choice choice, std::uint32_t* to, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    switch (kind) {
    case Kind::half:
      to[i] = static_cast<std::uint32_t>(number(random, choice, 10, 5) | number(random, choice, 10, 5) << 16);
      break;
    case Kind::bfloat:
      to[i] = static_cast<std::uint32_t>(number(random, choice, 7, 8) | number(random, choice, 7, 8) << 16);
      break;
    case Kind::tensor_float: // the low bits count for nothing
      to[i] = static_cast<std::uint32_t>(number(random, choice, 23, 8));
      break;
    case Kind::real: {
      const std::uint64_t value = number(random, choice, 52, 11);
      std::memcpy(to + i, &value, sizeof value), ++i;
      break;
    }
    case Kind::integer:
      to[i] = random.next();
      break;
    }
  }
}
void fill_sums(Random& random, Sums sums, Choice choice, std::uint32_t* to, unsigned count) {
  if (sums == Sums::half) return fill(random, Kind::half, choice, to, count);
  if (sums == Sums::real) return fill(random, Kind::real, choice, to, count);
  for (unsigned i = 0; i < count; ++i)
    to[i] = sums == Sums::single     ? static_cast<std::uint32_t>(number(random, choice, 23, 8))
            : choice == Choice::near ? random.next()
                                     : 0x7fffff00u + random.below(256); // sums that go beyond the largest
}

struct Case {
  const char* name;
  Kind kind;
  Sums sums;
  void (*run)(const std::uint32_t* in, std::uint32_t* out);
};
std::vector<Case>& cases() {
  static std::vector<Case> list;
  return list;
}
struct Enter {
  explicit Enter(const Case& one) { cases().push_back(one); }
};

__device__ inline std::uint32_t bits_of(float value) {
  return __float_as_uint(value);
}
__device__ inline std::uint32_t bits_of(std::uint32_t value) {
  return value;
}

// Operands of the instruction, by how many registers there are.
#define IN1(F, from) F(from[0])
#define IN2(F, from) F(from[0]), F(from[1])
#define IN4(F, from) F(from[0]), F(from[1]), F(from[2]), F(from[3])
#define BITS(x) "r"(x)
#define SINGLE(x) "f"(__uint_as_float(x))

#define KERNEL(ID, TYPE, SUMS, CODE)                                                                         \
  __global__ void kernel_##ID(const std::uint32_t* in, std::uint32_t* out) {                                 \
    in += (blockIdx.x * lanes + threadIdx.x) * words;                                                        \
    out += (blockIdx.x * lanes + threadIdx.x) * 16;                                                          \
    const std::uint32_t *a = in, *b = in + 16, *c = in + 32;                                                 \
    TYPE d[SUMS];                                                                                            \
    CODE;                                                                                                    \
    for (unsigned i = 0; i < SUMS; ++i) out[i] = bits_of(d[i]);                                              \
  }
#define ENTER(ID, NAME, KIND, SUMS)                                                                          \
  const Enter enter_##ID({NAME, KIND, SUMS, [](const std::uint32_t* in, std::uint32_t* out) {                \
                            kernel_##ID<<<warps, lanes>>>(in, out);                                          \
                          }});

// D and C have 4 registers, A 4 and B 2, and so on.
#define MMA_4_4_2(ID, NAME, KIND, SUMS, TYPE, C, FROM)                                                       \
  KERNEL(ID, TYPE, 4,                                                                                        \
         asm volatile("mma.sync.aligned." NAME                                                               \
                      " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"                 \
                      : C(d[0]), C(d[1]), C(d[2]), C(d[3])                                                   \
                      : IN4(BITS, a), IN2(BITS, b), IN4(FROM, c)))                                           \
  ENTER(ID, NAME, KIND, SUMS)
#define MMA_4_2_1(ID, NAME, KIND, SUMS, TYPE, C, FROM)                                                       \
  KERNEL(ID, TYPE, 4,                                                                                        \
         asm volatile("mma.sync.aligned." NAME " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"       \
                      : C(d[0]), C(d[1]), C(d[2]), C(d[3])                                                   \
                      : IN2(BITS, a), IN1(BITS, b), IN4(FROM, c)))                                           \
  ENTER(ID, NAME, KIND, SUMS)
#define MMA_2_4_2(ID, NAME, KIND, SUMS, TYPE, C, FROM)                                                       \
  KERNEL(ID, TYPE, 2,                                                                                        \
         asm volatile("mma.sync.aligned." NAME " {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};"            \
                      : C(d[0]), C(d[1])                                                                     \
                      : IN4(BITS, a), IN2(BITS, b), IN2(FROM, c)))                                           \
  ENTER(ID, NAME, KIND, SUMS)
#define MMA_2_2_1(ID, NAME, KIND, SUMS, TYPE, C, FROM)                                                       \
  KERNEL(ID, TYPE, 2,                                                                                        \
         asm volatile("mma.sync.aligned." NAME " {%0, %1}, {%2, %3}, {%4}, {%5, %6};"                        \
                      : C(d[0]), C(d[1])                                                                     \
                      : IN2(BITS, a), IN1(BITS, b), IN2(FROM, c)))                                           \
  ENTER(ID, NAME, KIND, SUMS)
#define MMA_2_1_1(ID, NAME, KIND, SUMS, TYPE, C, FROM)                                                       \
  KERNEL(ID, TYPE, 2,                                                                                        \
         asm volatile("mma.sync.aligned." NAME " {%0, %1}, {%2}, {%3}, {%4, %5};"                            \
                      : C(d[0]), C(d[1])                                                                     \
                      : IN1(BITS, a), IN1(BITS, b), IN2(FROM, c)))                                           \
  ENTER(ID, NAME, KIND, SUMS)
#define FLOATS float, "=f", SINGLE
#define WORDS std::uint32_t, "=r", BITS
#define CALL(MACRO, ...) MACRO(__VA_ARGS__)

CALL(MMA_4_4_2, bf16_k16, "m16n8k16.row.col.f32.bf16.bf16.f32", Kind::bfloat, Sums::single, FLOATS)
CALL(MMA_4_2_1, bf16_k8, "m16n8k8.row.col.f32.bf16.bf16.f32", Kind::bfloat, Sums::single, FLOATS)
CALL(MMA_4_4_2, f16_k16, "m16n8k16.row.col.f32.f16.f16.f32", Kind::half, Sums::single, FLOATS)
CALL(MMA_4_2_1, f16_k8, "m16n8k8.row.col.f32.f16.f16.f32", Kind::half, Sums::single, FLOATS)
CALL(MMA_2_4_2, f16_f16_k16, "m16n8k16.row.col.f16.f16.f16.f16", Kind::half, Sums::half, WORDS)
CALL(MMA_2_2_1, f16_f16_k8, "m16n8k8.row.col.f16.f16.f16.f16", Kind::half, Sums::half, WORDS)
CALL(MMA_4_4_2, tf32_k8, "m16n8k8.row.col.f32.tf32.tf32.f32", Kind::tensor_float, Sums::single, FLOATS)
CALL(MMA_4_2_1, tf32_k4, "m16n8k4.row.col.f32.tf32.tf32.f32", Kind::tensor_float, Sums::single, FLOATS)

#define INTEGERS Kind::integer, Sums::integer, WORDS
CALL(MMA_2_1_1, s8_m8, "m8n8k16.row.col.s32.s8.s8.s32", INTEGERS)
CALL(MMA_4_2_1, s8_k16, "m16n8k16.row.col.s32.s8.u8.s32", INTEGERS)
CALL(MMA_4_4_2, s8_k32, "m16n8k32.row.col.s32.s8.s8.s32", INTEGERS)
CALL(MMA_4_4_2, u8_k32, "m16n8k32.row.col.s32.u8.u8.s32", INTEGERS)
CALL(MMA_4_4_2, u8_s8_k32, "m16n8k32.row.col.s32.u8.s8.s32", INTEGERS)
CALL(MMA_2_1_1, s8_m8_clamped, "m8n8k16.row.col.satfinite.s32.u8.u8.s32", INTEGERS)
CALL(MMA_4_4_2, s8_k32_clamped, "m16n8k32.row.col.satfinite.s32.s8.s8.s32", INTEGERS)
CALL(MMA_2_1_1, s4_m8, "m8n8k32.row.col.s32.s4.s4.s32", INTEGERS)
CALL(MMA_4_2_1, s4_k32, "m16n8k32.row.col.s32.s4.u4.s32", INTEGERS)
CALL(MMA_4_4_2, s4_k64, "m16n8k64.row.col.s32.u4.s4.s32", INTEGERS)
CALL(MMA_4_4_2, u4_k64_clamped, "m16n8k64.row.col.satfinite.s32.u4.u4.s32", INTEGERS)
CALL(MMA_2_1_1, b1_m8, "m8n8k128.row.col.s32.b1.b1.s32.xor.popc", INTEGERS)
CALL(MMA_4_2_1, b1_k128, "m16n8k128.row.col.s32.b1.b1.s32.and.popc", INTEGERS)
CALL(MMA_4_4_2, b1_k256, "m16n8k256.row.col.s32.b1.b1.s32.xor.popc", INTEGERS)
CALL(MMA_4_4_2, b1_k256_and, "m16n8k256.row.col.s32.b1.b1.s32.and.popc", INTEGERS)

// Doubles take two words each.
#define REAL_KERNEL(ID, NAME, COUNT, CODE)                                                                   \
  __global__ void kernel_##ID(const std::uint32_t* in, std::uint32_t* out) {                                 \
    in += (blockIdx.x * lanes + threadIdx.x) * words;                                                        \
    out += (blockIdx.x * lanes + threadIdx.x) * 16;                                                          \
    double a[8], b[4], c[4], d[4];                                                                           \
    for (unsigned i = 0; i < 8; ++i) a[i] = __hiloint2double(in[2 * i + 1], in[2 * i]);                      \
    for (unsigned i = 0; i < 4; ++i) b[i] = __hiloint2double(in[17 + 2 * i], in[16 + 2 * i]);                \
    for (unsigned i = 0; i < 4; ++i) c[i] = __hiloint2double(in[33 + 2 * i], in[32 + 2 * i]);                \
    CODE;                                                                                                    \
    for (unsigned i = 0; i < COUNT; ++i)                                                                     \
      out[2 * i] = __double2loint(d[i]), out[2 * i + 1] = __double2hiint(d[i]);                              \
  }                                                                                                          \
  ENTER(ID, NAME, Kind::real, Sums::real)
#define REAL(x) "d"(x)
#define NAME_M8 "m8n8k4.row.col.f64.f64.f64.f64"
REAL_KERNEL(f64_m8, NAME_M8, 2,
            asm volatile("mma.sync.aligned." NAME_M8 " {%0, %1}, {%2}, {%3}, {%4, %5};"
                         : "=d"(d[0]), "=d"(d[1])
                         : IN1(REAL, a), IN1(REAL, b), IN2(REAL, c)))
#define NAME_K4 "m16n8k4.row.col.f64.f64.f64.f64"
REAL_KERNEL(f64_k4, NAME_K4, 4,
            asm volatile("mma.sync.aligned." NAME_K4 " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
                         : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3])
                         : IN2(REAL, a), IN1(REAL, b), IN4(REAL, c)))
#define NAME_K8 "m16n8k8.row.col.f64.f64.f64.f64"
REAL_KERNEL(f64_k8, NAME_K8, 4,
            asm volatile("mma.sync.aligned." NAME_K8
                         " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
                         : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3])
                         : IN4(REAL, a), IN2(REAL, b), IN4(REAL, c)))
#define NAME_K16 "m16n8k16.row.col.f64.f64.f64.f64"
REAL_KERNEL(f64_k16, NAME_K16, 4,
            asm volatile("mma.sync.aligned." NAME_K16
                         " {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
                         "{%12, %13, %14, %15}, {%16, %17, %18, %19};"
                         : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3])
                         : IN4(REAL, a), REAL(a[4]), REAL(a[5]), REAL(a[6]), REAL(a[7]), IN4(REAL, b),
                           IN4(REAL, c)))

std::uint64_t hash_of(const std::vector<std::uint32_t>& values) {
  std::uint64_t hash = 14695981039346656037ull;
  for (const std::uint32_t value : values) hash = (hash ^ value) * 1099511628211ull;
  return hash;
}

// Which of several NaNs a sum of doubles passes on is left open.
void forget_payloads(std::vector<std::uint32_t>& doubles) {
  for (std::size_t i = 0; i < doubles.size(); i += 2) {
    double value;
    std::memcpy(&value, &doubles[i], sizeof value);
    if (value != value) doubles[i] = 0, doubles[i + 1] = 0x7ff80000;
  }
}

} // namespace

int main(int count, char** arguments) {
  const bool shows_all = count > 1 && std::string(arguments[1]) == "all";
  std::vector<std::uint32_t> in(std::size_t{warps} * lanes * words), out(std::size_t{warps} * lanes * 16);
  std::uint32_t *device_in = nullptr, *device_out = nullptr;
  if (cudaMalloc(&device_in, in.size() * 4) || cudaMalloc(&device_out, out.size() * 4)) return 1;
  for (const Case& one : cases()) {
    const unsigned last = one.kind == Kind::integer ? 2 : 6;
    for (unsigned choice = 0; choice < last; ++choice) {
      Random random{choice + 1};
      for (std::size_t lane = 0; lane < std::size_t{warps} * lanes; ++lane) {
        fill(random, one.kind, Choice(choice), &in[lane * words], 32);
        fill_sums(random, one.sums, Choice(choice), &in[lane * words + 32], 16);
      }
      cudaMemcpy(device_in, in.data(), in.size() * 4, cudaMemcpyHostToDevice);
      cudaMemset(device_out, 0, out.size() * 4);
      one.run(device_in, device_out);
      if (const cudaError_t error = cudaDeviceSynchronize())
        return std::printf("%s: %s\n", one.name, cudaGetErrorString(error)), 1;
      cudaMemcpy(out.data(), device_out, out.size() * 4, cudaMemcpyDeviceToHost);
      if (one.sums == Sums::real) forget_payloads(out);
      std::printf("%s %s: %016llx\n", one.name, choices[choice],
                  static_cast<unsigned long long>(hash_of(out)));
      if (!shows_all) continue;
      for (std::size_t i = 0; i < out.size(); ++i) std::printf("%08x%c", out[i], i % 16 == 15 ? '\n' : ' ');
    }
  }
  return cudaFree(device_in) || cudaFree(device_out) ? 1 : 0;
}
