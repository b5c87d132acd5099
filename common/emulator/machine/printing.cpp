#include "printing.hpp"

#include "builtin_arguments.hpp"

#include <bit>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace warpfold::machine {

namespace {

// One conversion of a printf format: "%-8.3lld" has flags "-", width 8, precision 3 and kind 'd'. The format
// is the program's own, so the host's snprintf never sees it: it knows conversions that read arbitrary
// memory.
struct Conversion {
  std::string flags;
  bool has_width = false, has_precision = false;
  bool width_is_given = false, precision_is_given = false; // by an argument: `*`
  int width = 0, precision = 0;
  int elements = 0;   // of a vector: 4 in "%v4d"
  std::string length; // "ll"
  char kind = 0;      // 0: not a conversion that printf has
};

constexpr int widest_text = 4096; // characters of one conversion, as far as its width and precision decide

int parse_number(const std::string& format, std::size_t& at) {
  int number = 0;
  for (; at < format.size() && format[at] >= '0' && format[at] <= '9'; ++at)
    number = std::min(widest_text, 10 * number + (format[at] - '0'));
  return number;
}

// `at` is the place of the '%', and then that after the conversion.
Conversion parse_conversion(const std::string& format, std::size_t& at) {
  const auto next = [&] { return at < format.size() ? format[at] : '\0'; };
  const auto is_next_of = [&](std::string_view those) {
    return next() != '\0' && those.find(next()) != those.npos;
  };
  Conversion result;
  for (++at; is_next_of("-+ #0"); ++at) result.flags += next();
  if (next() == '*')
    result.width_is_given = true, ++at;
  else if (is_next_of("123456789"))
    result.has_width = true, result.width = parse_number(format, at);
  if (next() == '.') {
    ++at;
    result.has_precision = true;
    if (next() == '*')
      result.precision_is_given = true, ++at;
    else
      result.precision = parse_number(format, at);
  }
  if (next() == 'v') {
    ++at;
    result.elements = parse_number(format, at);
  }
  if (is_next_of("hljzt")) result.length = next(), ++at;
  const bool is_doubled =
      next() == result.length[0] || (result.elements && result.length == "h" && next() == 'l');
  if ((result.length == "h" || result.length == "l") && is_doubled) result.length += next(), ++at;
  if (is_next_of("diouxXcsfFeEgGaAp%n")) result.kind = format[at++];
  return result;
}

// Of an element of a vector, by the length that its conversion has.
std::size_t element_size(const Conversion& conversion) {
  if (conversion.length == "hh") return 1;
  if (conversion.length == "h") return 2;
  return conversion.length == "l" ? 8 : 4; // 4: "hl"
}

std::size_t stored_elements(const Conversion& conversion) {
  return conversion.elements == 3 ? 4 : static_cast<std::size_t>(conversion.elements);
}

// Arguments one behind the other in memory. Only OpenCL has vectors.
template <bool InOpenCL>
class InMemory {
public:
  static constexpr bool has_vectors = InOpenCL;
  InMemory(Warp& warp, const Operation* op, unsigned lane, u64 begin)
      : warp_(warp), op_(op), lane_(lane), next_(begin) {}

  template <typename T>
  T take() {
    T value;
    std::memcpy(&value, take_bytes(sizeof value), sizeof value);
    return value;
  }
  std::span<const std::byte> take_vector(const Conversion& conversion) {
    const std::size_t bytes = element_size(conversion) * stored_elements(conversion);
    if (!std::has_single_bit(bytes) || bytes > largest_vector) return {};
    return {take_bytes(bytes), bytes};
  }

private:
  static constexpr std::size_t largest_vector = 128; // of 16 elements of 8 bytes

  // Aligned to their size.
  const std::byte* take_bytes(std::size_t bytes) {
    const u64 at = (next_ + bytes - 1) / bytes * bytes;
    next_ = at + bytes;
    return generic_at(warp_, op_, lane_, at, bytes, 1, AccessKind::load);
  }

  Warp& warp_;
  const Operation* op_;
  unsigned lane_;
  u64 next_;
};

// The call's parameters behind the format. One that is missing is 0.
class InParameters {
public:
  static constexpr bool has_vectors = true;
  InParameters(const Arguments& arguments, unsigned lane) : arguments_(arguments), lane_(lane) {}

  template <typename T>
  T take() {
    T value{};
    const std::span<const std::byte> bytes = take_any();
    if (bytes.size() == sizeof(float) && std::is_same_v<T, double>) { // where double is not enabled
      float narrow = 0;
      std::memcpy(&narrow, bytes.data(), sizeof narrow);
      return static_cast<T>(narrow);
    }
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
    return value;
  }
  std::span<const std::byte> take_vector(const Conversion&) { return take_any(); }

private:
  std::span<const std::byte> take_any() {
    if (next_ >= arguments_.count()) return {};
    const unsigned index = next_++;
    return {arguments_.bytes(index, lane_), arguments_.size(index)};
  }

  const Arguments& arguments_;
  unsigned lane_, next_ = 1;
};

// The bytes of one parameter, in which the arguments follow one another without gaps. What is missing is 0.
class InOneParameter {
public:
  static constexpr bool has_vectors = true;
  explicit InOneParameter(std::span<const std::byte> bytes) : left_(bytes) {}

  template <typename T>
  T take() {
    T value{};
    const std::span<const std::byte> bytes = take_bytes(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  std::span<const std::byte> take_vector(const Conversion& conversion) {
    return take_bytes(element_size(conversion) * stored_elements(conversion));
  }

private:
  std::span<const std::byte> take_bytes(std::size_t count) {
    const std::span<const std::byte> taken = left_.first(std::min(count, left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }

  std::span<const std::byte> left_;
};

// `Source` gives the arguments one after the other.
template <typename Source>
class Formatter {
public:
  Formatter(Warp& warp, const Operation* op, unsigned lane, Source source)
      : warp_(warp), op_(op), lane_(lane), source_(source) {}

  std::string format(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      if (text[at] != '%') {
        out += text[at++];
        continue;
      }
      Conversion conversion = parse_conversion(text, at);
      if (conversion.kind == '%')
        out += '%';
      else if (conversion.kind != 0)
        out += convert(conversion);
    }
    return out;
  }
  // CUDA's vprintf returns how many arguments there were, OpenCL's printf 0.
  u64 result() const { return Source::has_vectors ? 0 : static_cast<u64>(converted_); }

private:
  template <typename T>
  static std::string print(const Conversion& conversion, T value) {
    std::string spec = "%" + conversion.flags;
    if (conversion.has_width) spec += std::to_string(conversion.width);
    if (conversion.has_precision) spec += "." + std::to_string(conversion.precision);
    if constexpr (std::is_integral_v<T>) spec += conversion.length;
    spec += conversion.kind;
    const auto write = [&](char* to, std::size_t size) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
      return std::snprintf(to, size, spec.c_str(), value);
#pragma GCC diagnostic pop
    };
    std::string text(static_cast<std::size_t>(std::max(0, write(nullptr, 0))), '\0');
    write(text.data(), text.size() + 1);
    return text;
  }

  std::string convert(Conversion conversion) {
    if (conversion.width_is_given) {
      const int width = std::clamp(source_.template take<std::int32_t>(), -widest_text, widest_text);
      if (width < 0) conversion.flags += '-';
      conversion.has_width = width != 0, conversion.width = std::abs(width);
    }
    if (conversion.precision_is_given) {
      conversion.precision = std::min(source_.template take<std::int32_t>(), widest_text);
      conversion.has_precision = conversion.precision >= 0;
    }
    ++converted_;
    if constexpr (Source::has_vectors)
      if (conversion.elements) return convert_vector(conversion);
    switch (conversion.kind) {
    case 's': {
      u64 pointer = source_.template take<u64>();
      return print(conversion, pointer ? read_string(warp_, op_, lane_, pointer).c_str() : "(null)");
    }
    case 'c':
      conversion.length.clear();
      return print(conversion, source_.template take<s32>());
    case 'p':
      return print(conversion, reinterpret_cast<void*>(source_.template take<u64>()));
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
      return print(conversion, source_.template take<double>());
    case 'n':
      return "";
    default:
      if (conversion.length.empty() || conversion.length[0] == 'h')
        return print(conversion, source_.template take<s32>());
      return print(conversion, source_.template take<s64>());
    }
  }

  // The elements with commas between; how large they are follows from the argument's size.
  std::string convert_vector(Conversion conversion) {
    const std::span<const std::byte> vector = source_.take_vector(conversion);
    const std::size_t size = vector.size() / stored_elements(conversion);
    conversion.length = "l";
    std::string text;
    for (std::size_t i = 0; i < static_cast<std::size_t>(conversion.elements); ++i)
      text += (i ? "," : "") + print_element(conversion, vector.subspan(i * size, size));
    return text;
  }

  static std::string print_element(const Conversion& conversion, std::span<const std::byte> element) {
    const bool is_float = std::string_view("fFeEgGaA").find(conversion.kind) != std::string_view::npos;
    const bool is_signed = conversion.kind == 'd' || conversion.kind == 'i';
    switch (element.size()) {
    case 1:
      return is_signed ? print(conversion, s64{read<std::int8_t>(element)})
                       : print(conversion, s64{read<std::uint8_t>(element)});
    case 2:
      return is_signed ? print(conversion, s64{read<std::int16_t>(element)})
                       : print(conversion, s64{read<std::uint16_t>(element)});
    case 4:
      if (is_float) return print(conversion, double{read<float>(element)});
      return is_signed ? print(conversion, s64{read<s32>(element)})
                       : print(conversion, s64{read<u32>(element)});
    case 8:
      return is_float ? print(conversion, read<double>(element)) : print(conversion, read<s64>(element));
    default:
      return "?"; // the vector has another number of elements than the format says
    }
  }

  template <typename T>
  static T read(std::span<const std::byte> bytes) {
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

  Warp& warp_;
  const Operation* op_;
  unsigned lane_;
  Source source_;
  int converted_ = 0;
};

// Counts the lines of the text (at least one), and returns whether the launch's limit still allows them.
bool may_print(const Grid& grid, const std::string& text) {
  if (!grid.prints) return false;
  if (grid.print_limit == 0) return true;
  const auto lines =
      static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(1, std::count(text.begin(), text.end(), '\n')));
  return grid.printed.fetch_add(lines) + lines <= grid.print_limit;
}

// `source_of`: gives a lane's arguments.
template <typename SourceOf>
const Operation* print_formatted(Warp& warp, const Operation* op, const Arguments& arguments,
                                 SourceOf source_of) {
  warp.worker->acted = true;
  each_active(warp, [&](unsigned lane) {
    Formatter formatter(warp, op, lane, source_of(lane));
    std::string text = formatter.format(read_string(warp, op, lane, arguments.get(0, lane)));
    if (may_print(warp.worker->grid, text)) std::fwrite(text.data(), 1, text.size(), stdout);
    arguments.set_result(lane, formatter.result());
  });
  warp.worker->refused_lanes = 0;
  return op + 1;
}

} // namespace

template <bool InOpenCL>
const Operation* print_from_memory(Warp& warp, const Operation* op) {
  const Arguments arguments(warp, op);
  return print_formatted(warp, op, arguments, [&](unsigned lane) {
    return InMemory<InOpenCL>(warp, op, lane, arguments.get(1, lane));
  });
}
template const Operation* print_from_memory<false>(Warp&, const Operation*);
template const Operation* print_from_memory<true>(Warp&, const Operation*);

const Operation* print_parameters(Warp& warp, const Operation* op) {
  const Arguments arguments(warp, op);
  return print_formatted(warp, op, arguments, [&](unsigned lane) { return InParameters(arguments, lane); });
}

const Operation* print_packed(Warp& warp, const Operation* op) {
  const Arguments arguments(warp, op);
  return print_formatted(warp, op, arguments, [&](unsigned lane) {
    if (arguments.count() == 1) return InOneParameter({}); // nothing is behind the format
    return InOneParameter({arguments.bytes(1, lane), arguments.size(1)});
  });
}

} // namespace warpfold::machine
