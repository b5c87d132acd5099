#include "builtins.hpp"

#include "access.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <new>

namespace warpfold::machine {

namespace {

// The arguments and the result of a builtin, lane by lane, in the caller's frame.
class Arguments {
public:
  Arguments(Warp& warp, const Operation* op)
      : warp_(warp), list_(warp.worker->grid.code.lists.data() + op->list) {}
  unsigned count() const { return list_[0]; }
  u64 get(unsigned index, unsigned lane) const {
    u64 value = 0;
    std::memcpy(&value, warp_.frame + list_[1 + 2 * index] + lane * list_[2 + 2 * index],
                std::min<std::size_t>(sizeof value, list_[2 + 2 * index]));
    return value;
  }
  void set_result(unsigned lane, u64 value) const {
    const std::uint32_t* results = list_ + 1 + 2 * count();
    if (results[0] == 0) return;
    std::memcpy(warp_.frame + results[1] + lane * results[2], &value,
                std::min<std::size_t>(sizeof value, results[2]));
  }

private:
  Warp& warp_;
  const std::uint32_t* list_;
};

std::string read_string(Warp& warp, const Operation* op, unsigned lane, u64 address) {
  constexpr std::size_t longest = 1 << 16;
  std::string text;
  while (text.size() < longest) {
    char c = static_cast<char>(*generic_at(warp, op, lane, address + text.size(), 1, 1, AccessKind::load));
    if (c == 0) break;
    text += c;
  }
  return text;
}

// One conversion of a printf format: "%-8.3lld" has flags "-", width 8, precision 3 and kind 'd'. The format
// is the program's own, so the host's snprintf never sees it: it knows conversions that read arbitrary
// memory.
struct Conversion {
  std::string flags;
  bool has_width = false, has_precision = false;
  bool width_is_given = false, precision_is_given = false; // by an argument: `*`
  int width = 0, precision = 0;
  std::string length; // "ll"
  char kind = 0;      // 0: not a conversion that CUDA's printf has
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
  if (is_next_of("hljzt")) result.length = next(), ++at;
  if ((result.length == "h" || result.length == "l") && next() == result.length[0])
    result.length += next(), ++at;
  if (is_next_of("diouxXcsfFeEgGaAp%n")) result.kind = format[at++];
  return result;
}

class Formatter {
public:
  Formatter(Warp& warp, const Operation* op, unsigned lane, u64 arguments)
      : warp_(warp), op_(op), lane_(lane), next_(arguments) {}

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
  int converted() const { return converted_; }

private:
  template <typename T>
  T take() {
    next_ = (next_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value;
    std::memcpy(&value, generic_at(warp_, op_, lane_, next_, sizeof(T), sizeof(T), AccessKind::load),
                sizeof(T));
    next_ += sizeof(T);
    return value;
  }

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
      const int width = std::clamp(take<std::int32_t>(), -widest_text, widest_text);
      if (width < 0) conversion.flags += '-';
      conversion.has_width = width != 0, conversion.width = std::abs(width);
    }
    if (conversion.precision_is_given) {
      conversion.precision = std::min(take<std::int32_t>(), widest_text);
      conversion.has_precision = conversion.precision >= 0;
    }
    ++converted_;
    switch (conversion.kind) {
    case 's': {
      u64 pointer = take<u64>();
      return print(conversion, pointer ? read_string(warp_, op_, lane_, pointer).c_str() : "(null)");
    }
    case 'c':
      return std::string(1, static_cast<char>(take<s32>()));
    case 'p':
      return print(conversion, reinterpret_cast<void*>(take<u64>()));
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
      return print(conversion, take<double>());
    case 'n':
      return "";
    default:
      if (conversion.length.empty() || conversion.length[0] == 'h') return print(conversion, take<s32>());
      return print(conversion, take<s64>());
    }
  }

  Warp& warp_;
  const Operation* op_;
  unsigned lane_;
  u64 next_;
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

const Operation* print_formatted(Warp& warp, const Operation* op) {
  warp.worker->acted = true;
  Arguments arguments(warp, op);
  each_active(warp, [&](unsigned lane) {
    Formatter formatter(warp, op, lane, arguments.get(1, lane));
    std::string text = formatter.format(read_string(warp, op, lane, arguments.get(0, lane)));
    if (may_print(warp.worker->grid, text)) std::fwrite(text.data(), 1, text.size(), stdout);
    arguments.set_result(lane, static_cast<u64>(formatter.converted()));
  });
  warp.worker->refused_lanes = 0;
  return op + 1;
}

constexpr std::string_view of_malloc = " bytes of a kernel's malloc"; // the end of such an allocation's label

const Operation* allocate(Warp& warp, const Operation* op) {
  warp.worker->acted = true;
  Arguments arguments(warp, op);
  each_active(warp, [&](unsigned lane) {
    u64 size = arguments.get(0, lane);
    void* memory = nullptr;
    try {
      if (size)
        memory =
            warp.worker->grid.memory.allocate(size, MemoryKind::device, fmt::format("{}{}", size, of_malloc));
    } catch (const std::bad_alloc&) { // malloc then returns null
    }
    arguments.set_result(lane, reinterpret_cast<u64>(memory));
  });
  return op + 1;
}

const Operation* release(Warp& warp, const Operation* op) {
  warp.worker->acted = true;
  Arguments arguments(warp, op);
  each_active(warp, [&](unsigned lane) {
    u64 address = arguments.get(0, lane);
    AddressSpace& memory = warp.worker->grid.memory;
    const auto found = memory.find(address); // the host's allocations are not a kernel's to free
    const bool is_own = found && found->begin == address && found->label.ends_with(of_malloc);
    if (address && !(is_own && memory.release(reinterpret_cast<void*>(address))))
      stop(warp, op, Fault::Kind::use_after_free,
           fmt::format("frees 0x{:x}, which is not a live allocation of malloc", address), 1u << lane);
  });
  std::fill(warp.worker->ranges.begin(), warp.worker->ranges.end(), KnownRange{});
  return op + 1;
}

// __assertfail(message, file, line, function, size of a character)
const Operation* fail_assertion(Warp& warp, const Operation* op) {
  Arguments arguments(warp, op);
  auto lane = static_cast<unsigned>(std::countr_zero(warp.mask));
  auto text = [&](unsigned index) { return read_string(warp, op, lane, arguments.get(index, lane)); };
  stop(warp, op, Fault::Kind::assertion,
       fmt::format("{}:{}: {}: assertion `{}' failed", text(1), arguments.get(2, lane), text(3), text(0)),
       warp.mask);
}

struct Builtin {
  std::string_view name;
  Handler run;
  unsigned arguments;
};
constexpr Builtin builtins[] = {{"vprintf", print_formatted, 2},
                                {"malloc", allocate, 1},
                                {"free", release, 1},
                                {"__assertfail", fail_assertion, 5}};

} // namespace

void decode_builtin(Decoder& decoder, const ptx::Instruction& in, std::string_view name,
                    std::uint32_t slots) {
  for (const Builtin& builtin : builtins)
    if (builtin.name == name && decoder.code().lists[slots] == builtin.arguments) {
      decoder.code().allocates |= builtin.run == allocate || builtin.run == release;
      decoder.emit(builtin.run).list = slots;
      return;
    }
  refuse(in, fmt::format("the function {} is not defined in this module", name));
}

} // namespace warpfold::machine
