// What an instruction does with values, for a watcher that follows them from where they were loaded to where
// they end.
#include "decoder.hpp"
#include "instructions/matrix.hpp"
#include "instructions/shuffle_lanes.hpp"

namespace warpfold::machine {

namespace {

using Place = ValueFlow::Place;
using Origin = ValueFlow::Origin;

// The operand that a store, an atomic or a shuffle takes its (first) value from.
constexpr std::size_t stored = 1, exchanged = 1;

ValueFlow::Kind kind_of(const ptx::Instruction& in) {
  using Kind = ValueFlow::Kind;
  if (in.opcode == "mma") return Kind::multiplied;
  switch (ptx::flow_of(in)) {
  case ptx::Flow::copied:
    return Kind::copied;
  case ptx::Flow::packed:
    return Kind::packed;
  case ptx::Flow::selected:
    return Kind::selected;
  case ptx::Flow::exchanged:
    return Kind::exchanged;
  case ptx::Flow::combined:
    return Kind::computed;
  case ptx::Flow::fresh:
    break;
  }
  const auto is = [&in](std::string_view opcode) { return in.opcode == opcode; };
  if (is("redux")) return Kind::warp_reduced;
  return is("ld") || is("ldu") || is("atom") || is("cp") ? Kind::accessed : Kind::unrelated;
}

Origin origin_of(ptx::Special name) {
  using Named = ptx::Special;
  const bool tells_threads_apart =
      name == Named::tid || name == Named::laneid || name == Named::warpid || name == Named::ctaid;
  return tells_threads_apart ? Origin::thread : Origin::argument;
}

unsigned (*lane_function(const ptx::Instruction& in))(unsigned, std::uint32_t, std::uint32_t) {
  return by_mode(in, []<Shuffle Mode>() -> unsigned (*)(unsigned, u32, u32) {
    return [](unsigned lane, u32 b, u32 c) { return source_lane<Mode>(lane, b, c).lane; };
  });
}

} // namespace

std::vector<Place> Decoder::places_of(const ptx::Operand& operand) {
  std::vector<Place> places;
  ptx::each_register(operand, [&](std::uint32_t index) {
    const unsigned width = register_width(register_type(index));
    if (width != 0) places.push_back({register_row(index), width, width});
  });
  return places;
}

// Of an instruction that accesses a parameter or result of a function: its place in the frame. Empty if it
// accesses anything else.
std::vector<Place> Decoder::slots_of(const ptx::Instruction& in) {
  const bool stores = in.opcode == "st";
  if (!in.has("param") || in.operands.size() < 2) return {};
  const auto& value = in.operands[stores ? 1 : 0];
  const auto* vector = std::get_if<ptx::VectorOperand>(&value.value);
  const auto elements = static_cast<unsigned>(vector ? vector->elements.size() : 1);
  const auto size = static_cast<unsigned>(ptx::size_of(type_modifier(in)));
  const Address at = address(in.operands[stores ? 0 : 1], ptx::Space::parameter, size * elements);
  if (!at.in_frame) return {};
  std::vector<Place> slots;
  for (unsigned i = 0; i < elements; ++i)
    slots.push_back({at.row + static_cast<std::uint32_t>(at.offset) + i * size, size, at.stride});
  return slots;
}

void Decoder::note_flow(const ptx::Instruction& in, std::size_t first) {
  ValueFlow flow{.kind = kind_of(in), .to = {}, .from = {}, .product = {}};
  const bool writes = ptx::first_source(in) == 1 && !in.operands.empty() &&
                      !std::holds_alternative<ptx::AddressOperand>(in.operands[0].value);
  const bool stores = in.opcode == "st" || in.opcode == "red";
  if (stores) flow.kind = ValueFlow::Kind::accessed;
  if (writes) flow.to = places_of(in.operands[0]);
  const auto add_source = [&](const ptx::Operand& operand) {
    std::vector<Place> places = places_of(operand);
    const auto* const special = std::get_if<ptx::SpecialOperand>(&operand.value);
    const bool is_number = std::holds_alternative<ptx::Immediate>(operand.value),
               is_address = std::holds_alternative<ptx::SymbolOperand>(operand.value);
    if (is_number || special || is_address) {
      const ptx::Type type = special ? ptx::Type::u32 : type_modifier(in);
      const unsigned width = register_width(type);
      places.push_back({is_address ? 0 : source(operand, type), width, width,
                        special ? origin_of(special->name) : Origin::constant});
    }
    flow.from.insert(flow.from.end(), places.begin(), places.end());
  };
  const auto add_sources = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < std::min(to, in.operands.size()); ++i) {
      if (const auto* vector = std::get_if<ptx::VectorOperand>(&in.operands[i].value))
        for (const ptx::Operand& element : vector->elements) add_source(element);
      else
        add_source(in.operands[i]);
    }
  };
  try {
    if (std::vector<Place> slots = slots_of(in); !slots.empty()) {
      flow.kind = ValueFlow::Kind::copied;
      if (stores) add_sources(stored, stored + 1);
      (stores ? flow.to : flow.from) = std::move(slots);
    } else if (in.has("param") && !stores) {
      flow.kind = ValueFlow::Kind::unrelated;
      flow.from.push_back({0, 0, 0, Origin::argument});
    } else if (flow.kind == ValueFlow::Kind::exchanged) {
      add_sources(exchanged, exchanged + 3); // the value, and what says from which lane it comes
      flow.source_lane = lane_function(in);
    } else if (flow.kind == ValueFlow::Kind::warp_reduced) {
      add_sources(1, 2);
    } else if (flow.kind == ValueFlow::Kind::accessed) {
      if (stores) add_sources(stored, stored + 1);
      if (in.opcode == "atom") add_sources(2, 4);
    } else if (flow.kind != ValueFlow::Kind::unrelated) {
      add_sources(1, in.operands.size());
    }
    if (flow.kind == ValueFlow::Kind::multiplied) {
      const auto* const shape = std::ranges::find(mma_shapes, shape_name(in), &MatrixShape::name);
      if (shape == std::end(mma_shapes) || in.operands.size() < 4) return;
      const auto registers = [&](std::size_t i) {
        return static_cast<unsigned>(ptx::values_of(in.operands[i]).size());
      };
      flow.product = {shape->m, shape->n, registers(1), registers(2)};
    }
    if (flow.kind == ValueFlow::Kind::selected) {
      flow.chooser = predicate(in.operands[3]);
      flow.chooser_negated = is_negated(in.operands[3]);
    }
  } catch (const NotSupported&) {
    return; // the instruction itself reports it
  }
  if (flow.to.empty() && flow.kind != ValueFlow::Kind::accessed) return; // a branch, or a predicate
  for (const Place& to : flow.to)
    flow.overwrites_source |=
        std::ranges::any_of(flow.from, [&](const Place& from) { return from.row == to.row; });
  flow.last_operation = static_cast<std::uint32_t>(code_.operations.size()) - 1;
  code_.flow_of.resize(code_.operations.size(), -1);
  for (std::size_t i = first; i < code_.operations.size(); ++i)
    code_.flow_of[i] = static_cast<std::int32_t>(code_.flows.size());
  code_.flows.push_back(std::move(flow));
}

} // namespace warpfold::machine
