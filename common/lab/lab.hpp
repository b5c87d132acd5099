// Everything that a lab sees of the lab library.
//
// A lab is one .cu file: its kernels, a host function for each rung, and a main() that names the rungs:
//
//   int main(int argc, char** argv) {
//     return lab::main(argc, argv, {{"naive_atomic", naive_atomic}});
//   }
//
// The promises of its rungs are in promises/, one file per lab, which labs/ and solutions/ share.
//
// nvcc compiles this header again after each edit of a lab, so it includes almost nothing; what it declares
// is in a library that the host compiler builds once.
#pragma once

#include <cstddef>
#include <cstdio> // printf, in kernels too
#include <initializer_list>

struct __nv_bfloat16; // cuda_bf16.h, which only the labs that use it include

namespace lab {

// -----------------------------------------------------------------------------------------------------------
// For kernels and host functions.

// The number of blocks (or tiles, or rows) of `size` elements that cover n elements: n / size, rounded up.
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr std::size_t
    ceil_div(std::size_t n, std::size_t size) {
  return (n + size - 1) / size;
}

// The mask of a shuffle or vote in which all 32 lanes of a warp take part.
constexpr unsigned all_lanes = 0xffffffff;

// The number of multiprocessors of the device in use.
unsigned multiprocessors();

// The number of blocks of `block` threads that the whole device can hold at the same time, if only threads
// limit it.
unsigned resident_blocks(unsigned block);

// Device memory for a rung's own partial results: `bytes` bytes on the device in use, aligned to 256, with
// arbitrary contents. Each call within one run of a rung returns a different buffer; all of them are released
// when the rung returns.
void* scratch_bytes(std::size_t bytes);
template <class T>
T* scratch(std::size_t count) {
  return static_cast<T*>(scratch_bytes(count * sizeof(T)));
}

// From now on, messages and traces call the device memory that begins here by this name, followed by the
// number. Memory from scratch() has a name already. Does nothing on a GPU.
void name_memory(const void* begin, const char* name, int number);

// The shape of a matrix that is stored row after row.
struct MatrixShape {
  std::size_t rows, columns;
};

// The part of an array of floats that lies in the memory of one device. Where there are more devices than
// elements, some parts are empty.
struct Shard {
  int device;
  const float* input; // on that device
  std::size_t n;
};

// Ends the rung: there is no such part.
[[noreturn]] void refuse_shard(unsigned index, unsigned count);

// The parts of an array, one per device. They are of about the same length. The result belongs on the first
// of these devices.
class Shards {
public:
  Shards(const Shard* first, unsigned count) : first_(first), count_(count) {}
  const Shard* begin() const { return first_; }
  const Shard* end() const { return first_ + count_; }
  unsigned size() const { return count_; }
  const Shard& operator[](unsigned i) const {
    if (i >= count_) refuse_shard(i, count_);
    return first_[i];
  }

private:
  const Shard* first_;
  unsigned count_;
};

// -----------------------------------------------------------------------------------------------------------
// For main().

enum class Operator { add, min, max, product, bitwise_and };

enum class Type { float32, float64, int32, uint32, bfloat16 };

template <class T>
struct TypeOf;
template <>
struct TypeOf<float> {
  static constexpr Type value = Type::float32;
};
template <>
struct TypeOf<double> {
  static constexpr Type value = Type::float64;
};
template <>
struct TypeOf<int> {
  static constexpr Type value = Type::int32;
};
template <>
struct TypeOf<unsigned> {
  static constexpr Type value = Type::uint32;
};
template <>
struct TypeOf<__nv_bfloat16> {
  static constexpr Type value = Type::bfloat16;
};

// The arguments of a host function, whatever its signature.
struct Arguments {
  void* input = nullptr;  // on the device; n elements
  void* result = nullptr; // on the device; one element per row, or as many as the input
  std::size_t n = 0, rows = 1;
  unsigned block = 0;
  const Shard* shards = nullptr; // instead of the input, for a rung over several devices
  unsigned devices = 1;
  int rank = 0; // of this process, if each has one device; it has shards[0], and rank 0 the result
};

// How processes find one another that were started together, each for a device of its own: MPI, which this
// library is not linked to. begin() is called once, before anything else; broadcast() is called by all.
struct Processes {
  void (*begin)(int* rank, int* count) = nullptr;
  void (*broadcast)(void* bytes, int count, int from_rank) = nullptr;
  void (*end)() = nullptr;
};

// A rung's host function for one element type. It reduces n elements at `input` to one at `result` (both on
// the device), launches its kernels on the default stream with `block` threads per block, and needs neither
// to check for errors nor to wait.
struct Variant {
  using Function = void (*)();

  Variant() = default;
  template <class T>
  Variant(void (*reduce)(const T* input, T* result, std::size_t n, unsigned block))
      : type(TypeOf<T>::value), result_type(type), function(reinterpret_cast<Function>(reduce)),
        invoke([](Function called, const Arguments& a) {
          reinterpret_cast<void (*)(const T*, T*, std::size_t, unsigned)>(called)(
              static_cast<const T*>(a.input), static_cast<T*>(a.result), a.n, a.block);
        }) {}
  // In place: the input may be overwritten.
  template <class T>
  Variant(void (*reduce)(T* data, T* result, std::size_t n, unsigned block))
      : type(TypeOf<T>::value), result_type(type), in_place(true),
        function(reinterpret_cast<Function>(reduce)), invoke([](Function called, const Arguments& a) {
          reinterpret_cast<void (*)(T*, T*, std::size_t, unsigned)>(called)(
              static_cast<T*>(a.input), static_cast<T*>(a.result), a.n, a.block);
        }) {}
  // One result per row of a matrix that is stored row after row.
  template <class T>
  Variant(void (*reduce)(const T* matrix, T* results, std::size_t rows, std::size_t columns, unsigned block))
      : Variant(reduce, TypeOf<T>::value) {}
  // The same, of elements that are too short for their sums.
  Variant(void (*reduce)(const __nv_bfloat16* matrix, float* results, std::size_t rows, std::size_t columns,
                         unsigned block))
      : Variant(reduce, Type::float32) {}
  // As many results as elements: each row becomes another row.
  template <class T>
  Variant(void (*map)(const T* input, T* output, MatrixShape shape, unsigned block))
      : type(TypeOf<T>::value), result_type(type), by_rows(true), maps_rows(true),
        function(reinterpret_cast<Function>(map)), invoke([](Function called, const Arguments& a) {
          reinterpret_cast<void (*)(const T*, T*, MatrixShape, unsigned)>(called)(
              static_cast<const T*>(a.input), static_cast<T*>(a.result), {a.rows, a.rows ? a.n / a.rows : 0},
              a.block);
        }) {}

  // An array that is shared out among several devices, all driven by this process. The host function may use
  // streams of its own, and any device may be in use when it returns.
  Variant(void (*reduce)(Shards shards, float* result, unsigned block))
      : type(Type::float32), result_type(type), over_devices(true),
        function(reinterpret_cast<Function>(reduce)), invoke([](Function called, const Arguments& a) {
          reinterpret_cast<void (*)(Shards, float*, unsigned)>(called)(
              {a.shards, a.devices}, static_cast<float*>(a.result), a.block);
        }) {}
  // The same in as many processes as devices: each reduces its own shard, and the result goes to that of
  // rank 0.
  Variant(void (*reduce)(const Shard& mine, float* result, int rank, int ranks, unsigned block),
          const Processes& started_together)
      : type(Type::float32), result_type(type), over_devices(true), processes(started_together),
        function(reinterpret_cast<Function>(reduce)), invoke([](Function called, const Arguments& a) {
          reinterpret_cast<void (*)(const Shard&, float*, int, int, unsigned)>(called)(
              *a.shards, static_cast<float*>(a.result), a.rank, int(a.devices), a.block);
        }) {
#if WARPFOLD_NO_MPI
    why_absent = "MPI was not found when the build was set up (Debian: libopenmpi-dev, openmpi-bin)";
#endif
  }

  // What a program does once, before it reduces any number of times: called before each run that is checked,
  // and not part of what is timed.
  Variant& set_up_by(void (*once)(Shards shards)) {
    return set_up = once, *this;
  }

  // Reduces with a different operator than its rung does: a kernel that should take the operator from its
  // caller is tried with this one too.
  Variant& tried_with(Operator other) {
    return has_own_operator = true, own_operator = other, *this;
  }

  // How messages name it, if not by its type.
  Variant& called(const char* by) {
    return words = by, *this;
  }

  const char* words = "";
  Type type{}, result_type = type; // of the elements, and of the results
  Operator own_operator{};
  bool has_own_operator = false;
  bool in_place = false, by_rows = false, over_devices = false;
  bool maps_rows = false;           // by_rows, with a result for each element
  bool in_opencl = false;           // so are its kernels, and OpenCL decides where an array starts
  const char* why_absent = nullptr; // the host function cannot be run in this build
  Processes processes;
  void (*set_up)(Shards) = nullptr;
  Function function = nullptr;
  void (*invoke)(Function, const Arguments&) = nullptr;

private:
  template <class T, class R>
  Variant(void (*reduce)(const T*, R*, std::size_t, std::size_t, unsigned), Type of_results)
      : type(TypeOf<T>::value), result_type(of_results), by_rows(true),
        function(reinterpret_cast<Function>(reduce)), invoke([](Function called, const Arguments& a) {
          reinterpret_cast<void (*)(const T*, R*, std::size_t, std::size_t, unsigned)>(called)(
              static_cast<const T*>(a.input), static_cast<R*>(a.result), a.rows, a.rows ? a.n / a.rows : 0,
              a.block);
        }) {}
};

// A rung's name with its host function, or with one host function for each of up to four element types, and
// one that tries its kernel with another operator.
struct Implementation {
  static constexpr int max_variants = 5;

  Implementation(const char* rung_name, Variant first, Variant second = {}, Variant third = {},
                 Variant fourth = {}, Variant fifth = {})
      : rung(rung_name), variants{first, second, third, fourth, fifth} {}

  // For a rung whose promise depends on a number that the student may choose.
  Implementation& elements_per_thread(unsigned count) { return per_thread = count, *this; }

  const char* rung;
  Variant variants[max_variants]; // those without a function do not count
  unsigned per_thread = 0;
};

// Checks, profiles or times the rungs, as the command line says (--help), and returns the process's exit
// code. `source` is the lab's own file: its folder has the lab's name, and the program reads it to see which
// regions are still to be filled in.
int main(int argc, char** argv, std::initializer_list<Implementation> rungs,
         const char* source = __builtin_FILE());

} // namespace lab
