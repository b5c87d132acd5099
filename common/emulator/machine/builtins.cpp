#include "builtins.hpp"

#include "builtin_arguments.hpp"
#include "device_runtime.hpp"
#include "printing.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <new>

namespace warpfold::machine {

namespace {

constexpr std::string_view of_malloc = " bytes of a kernel's malloc"; // the end of such an allocation's label

// 0 if there is none.
u64 allocated(const Grid& grid, u64 size) {
  try {
    return size == 0 ? 0
                     : reinterpret_cast<u64>(grid.memory.allocate(
                           size, MemoryKind::device, fmt::format("{}{}", size, of_malloc), grid.device));
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

const Operation* allocate(Warp& warp, const Operation* op) {
  warp.worker->acted = true;
  Arguments arguments(warp, op);
  each_active(warp, [&](unsigned lane) {
    arguments.set_result(lane, allocated(warp.worker->grid, arguments.get(0, lane)));
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
    arguments.set_result(lane, 0); // of cudaFree
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

// Of an array in the thread's own memory or elsewhere; a store like any other for who watches.
void store_for(Warp& warp, const Operation* op, unsigned lane, u64 address,
               std::span<const std::byte> value) {
  const auto width = static_cast<unsigned>(value.size());
  std::memcpy(generic_at(warp, op, lane, address, width, width, AccessKind::store), value.data(), width);
  const std::uint32_t all = warp.mask;
  warp.set_mask(1u << lane);
  Request request;
  request.address[lane] = address;
  const ptx::Space space = resolve_generic(warp, request);
  tell(warp, op, request, space, AccessKind::store, width);
  warp.set_mask(all);
}

// cudaMalloc(&pointer, size), called by a kernel
const Operation* allocate_at(Warp& warp, const Operation* op) {
  constexpr u64 no_memory = 2; // cudaErrorMemoryAllocation
  warp.worker->acted = true;
  Arguments arguments(warp, op);
  each_active(warp, [&](unsigned lane) {
    const u64 size = arguments.get(1, lane), memory = allocated(warp.worker->grid, size);
    store_for(warp, op, lane, arguments.get(0, lane), std::as_bytes(std::span(&memory, 1)));
    arguments.set_result(lane, memory == 0 && size != 0 ? no_memory : 0);
  });
  return op + 1;
}

const Operation* call_device_runtime(Warp& warp, const Operation* op) {
  warp.worker->acted = true;
  const Grid& grid = warp.worker->grid;
  const Arguments arguments(warp, op);
  DeviceCall call{.function = *reinterpret_cast<const std::string*>(op->immediate),
                  .where = grid.code.line_of(*op),
                  .arguments = {},
                  .store = {}};
  each_active(warp, [&](unsigned lane) {
    call.thread = warp.block->linear_id * grid.shape.block.count() + warp.index * warp_lanes + lane;
    call.arguments.clear();
    for (unsigned i = 0; i < arguments.count(); ++i)
      call.arguments.emplace_back(arguments.bytes(i, lane), arguments.size(i));
    call.store = [&](u64 address, std::span<const std::byte> value) {
      store_for(warp, op, lane, address, value);
    };
    const std::optional<u64> result =
        grid.device_runtime ? grid.device_runtime->call(call) : std::optional<u64>();
    if (!result)
      stop(warp, op, Fault::Kind::unsupported,
           fmt::format("calls {}, which the emulator does not have", call.function), 1u << lane);
    arguments.set_result(lane, *result);
  });
  return op + 1;
}

struct Builtin {
  std::string_view name;
  Handler run;
  unsigned arguments;               // any_number: as many as the call has
  std::size_t declared = arguments; // by the PTX: OpenCL's printf, without those behind the dots
  bool is_open = false;             // the last parameter has no size
};
constexpr unsigned any_number = ~0u;
constexpr Builtin builtins[] = {{"vprintf", print_from_memory<false>, 2},
                                {"printf", print_from_memory<true>, 2},
                                {"printf", print_packed, 2, 2, true},
                                {"printf", print_packed, 1, 2, true},
                                {"printf", print_parameters, any_number, 1},
                                {"malloc", allocate, 1},
                                {"free", release, 1},
                                {"__cudaCDP2Malloc", allocate_at, 2},
                                {"__cudaCDP2Free", release, 1},
                                {"__assertfail", fail_assertion, 5}};

} // namespace

void decode_builtin(Decoder& decoder, const ptx::Instruction& in, const ptx::Function& callee,
                    std::uint32_t slots) {
  const std::string& name = callee.name;
  const bool is_open = !callee.parameters.empty() && callee.parameters.back().size == 0;
  for (const Builtin& builtin : builtins)
    if (builtin.name == name && builtin.declared == callee.parameters.size() && builtin.is_open == is_open &&
        (builtin.arguments == any_number || decoder.code().lists[slots] == builtin.arguments)) {
      decoder.code().calls_runtime |=
          builtin.run == allocate || builtin.run == allocate_at || builtin.run == release;
      decoder.emit(builtin.run).list = slots;
      return;
    }
  if (is_of_device_runtime(name)) {
    decoder.code().calls_runtime = true;
    Operation& op = decoder.emit(call_device_runtime);
    op.list = slots;
    op.immediate = reinterpret_cast<std::int64_t>(&name); // lives as long as the module
    return;
  }
  refuse(in, fmt::format("the function {} is not defined in this module", name));
}

} // namespace warpfold::machine
