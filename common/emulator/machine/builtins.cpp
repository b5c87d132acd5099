#include "builtins.hpp"

#include "builtin_arguments.hpp"
#include "printing.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <new>

namespace warpfold::machine {

namespace {

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
  unsigned arguments; // any_number: as many as the call has
};
constexpr unsigned any_number = ~0u;
constexpr Builtin builtins[] = {{"vprintf", print_from_memory, 2},
                                {"printf", print_parameters, any_number},
                                {"malloc", allocate, 1},
                                {"free", release, 1},
                                {"__assertfail", fail_assertion, 5}};

} // namespace

void decode_builtin(Decoder& decoder, const ptx::Instruction& in, std::string_view name,
                    std::uint32_t slots) {
  for (const Builtin& builtin : builtins)
    if (builtin.name == name &&
        (builtin.arguments == any_number || decoder.code().lists[slots] == builtin.arguments)) {
      decoder.code().allocates |= builtin.run == allocate || builtin.run == release;
      decoder.emit(builtin.run).list = slots;
      return;
    }
  refuse(in, fmt::format("the function {} is not defined in this module", name));
}

} // namespace warpfold::machine
