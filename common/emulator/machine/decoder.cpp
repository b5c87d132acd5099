#include "decoder.hpp"

#include "reach.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace warpfold::machine {

namespace {

const Opcode* find_opcode(std::string_view name) {
  // Never destroyed: kernels may be decoded while static destructors run.
  static const auto& table = *[] {
    auto* const all = new std::unordered_map<std::string_view, const Opcode*>;
    for (auto family : families())
      for (const Opcode& opcode : family) all->emplace(opcode.name, &opcode);
    return all;
  }();
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

} // namespace

ptx::Type type_modifier(const ptx::Instruction& instruction, unsigned from_last) {
  for (std::size_t i = instruction.modifiers.size(); i-- > 0;) {
    ptx::Type type = ptx::type_from(instruction.modifiers[i]);
    if (type != ptx::Type::none && from_last-- == 0) return type;
  }
  return ptx::Type::none;
}

void refuse(const ptx::Instruction& instruction, std::string_view why) {
  throw NotSupported(fmt::format("the instruction {} is not supported{}{}", instruction.name(),
                                 why.empty() ? "" : ": ", why));
}

Decoder::Decoder(const Program& program, Code& code, bool followed)
    : program_(program), code_(code), followed_(followed) {}

void Decoder::decode_kernel(std::uint32_t kernel) {
  const ptx::Module& module = program_.module();
  Reach reached = reach(module, kernel);
  code_.has_calls = reached.has_calls;
  std::unordered_map<std::uint64_t, std::uint64_t> in_functions;
  std::uint32_t bytes =
      lay_out_shared(module, reached, [&](std::uint32_t scope, std::uint32_t index, std::uint64_t at) {
        if (scope == module_scope)
          shared_offsets_[index] = at;
        else
          in_functions[std::uint64_t{scope} << 32 | index] = at;
        const ptx::Variable& variable =
            scope == module_scope ? module.variables[index] : module.functions[scope].variables[index];
        code_.shared_names.push_back({at, variable.size, std::string(variable.name)});
      });
  constexpr std::uint32_t dynamic_alignment = 16;
  code_.static_shared = bytes;
  code_.dynamic_shared_offset = (bytes + dynamic_alignment - 1) / dynamic_alignment * dynamic_alignment;
  for (std::uint32_t index : reached.dynamic_shared_variables)
    code_.shared_names.push_back({code_.dynamic_shared_offset, 0, std::string(module.variables[index].name)});
  code_.frame_of_function.assign(module.functions.size(), -1);
  code_.frames.resize(reached.functions.size());
  frame_entries_.resize(reached.functions.size());
  for (std::uint32_t i = 0; i < reached.functions.size(); ++i)
    code_.frame_of_function[reached.functions[i]] = static_cast<std::int32_t>(i);
  for (std::uint32_t i = 0; i < reached.functions.size(); ++i) {
    std::uint32_t function = reached.functions[i];
    frame_ = i;
    variable_offsets_.assign(module.functions[function].variables.size(), 0);
    for (std::uint32_t v = 0; v < variable_offsets_.size(); ++v)
      if (auto found = in_functions.find(std::uint64_t{function} << 32 | v); found != in_functions.end())
        variable_offsets_[v] = found->second;
    decode_function(function);
  }
  link();
}

void Decoder::place_function_variables(const ptx::Function& function) {
  std::uint64_t local = 0;
  for (std::size_t i = 0; i < function.variables.size(); ++i) {
    const ptx::Variable& variable = function.variables[i];
    if (variable.space != ptx::Space::local) continue;
    std::uint64_t alignment = std::max<std::uint32_t>(1, variable.alignment);
    local = (local + alignment - 1) / alignment * alignment;
    variable_offsets_[i] = local;
    local += variable.size;
  }
  if (local > Limits::local_per_thread)
    throw std::runtime_error(fmt::format("{} needs {} bytes of local memory per thread; the limit is {}",
                                         function.name, local, Limits::local_per_thread));
  code_.frames[frame_].local_bytes = static_cast<std::uint32_t>((local + 15) / 16 * 16);
}

namespace {

std::vector<std::uint32_t> parameter_offsets(const ptx::Function& kernel) {
  std::vector<std::uint32_t> offsets;
  for (const Parameter& each : lay_out_parameters(kernel)) offsets.push_back(each.offset);
  return offsets;
}

} // namespace

void Decoder::decode_function(std::uint32_t index) {
  const ptx::Function& function = program_.module().functions[index];
  function_ = &function;
  frame_bytes_ = row_alignment; // row 0 belongs to nothing, so that 0 can mean "no row"
  register_rows_.clear();
  variable_slots_.clear();
  constant_rows_.clear();
  special_rows_.clear();
  local_fixes_.clear();
  table_fixes_.clear();
  Frame& frame = code_.frames[frame_];
  frame.function = index;
  place_function_variables(function);
  auto add_slots = [&](std::vector<Frame::Slot>& slots, const std::vector<std::uint32_t>& registers,
                       const std::vector<ptx::Variable>& variables) {
    for (std::uint32_t r : registers) slots.push_back({register_row(r), register_width(register_type(r))});
    if (registers.empty())
      for (const ptx::Variable& v : variables) slots.push_back(slot_of(v));
  };
  if (!function.is_entry) {
    add_slots(frame.parameters, function.parameter_registers, function.parameters);
    add_slots(frame.results, function.result_registers, function.results);
  }

  blocks_ = ptx::basic_blocks(function);
  block_of_.assign(function.body.size() + 1, none);
  block_leaders_.assign(blocks_.size() + 1, none);
  for (std::uint32_t b = 0; b < blocks_.size(); ++b)
    for (std::uint32_t i = blocks_[b].begin; i < blocks_[b].end; ++i) block_of_[i] = b;
  begins_wait_ = ptx::load_waits(function, blocks_);
  printed_ = ptx::printed_loads(program_.module(), function);
  restored_ = ptx::restored_loads(function);
  copied_ = ptx::copied_loads(function);
  synchronising_ = ptx::synchronising(function, blocks_);
  choosers_ = ptx::choosers(function, blocks_);
  pointers_ = function.is_entry ? ptx::pointer_parameters(function, parameter_offsets(function))
                                : std::vector<ptx::ParameterWords>(function.body.size());
  location_ = function.location;
  frame_entries_[frame_] = static_cast<std::uint32_t>(code_.operations.size());
  unset_rows_.clear();
  const std::vector<std::uint32_t> unset = ptx::unset_registers(function, blocks_);
  for (const std::uint32_t index : ptx::reached_from(function, unset))
    unset_rows_[index] = allocate(4 * warp_lanes, row_alignment);
  if (!unset.empty()) {
    begin_block();
    emit_forget_registers(unset);
  }
  for (block_ = 0; block_ < blocks_.size(); ++block_) {
    if (blocks_[block_].begin < function.body.size())
      location_ = function.body[blocks_[block_].begin].location;
    block_leaders_[block_] = static_cast<std::uint32_t>(code_.operations.size());
    begin_block();
    for (std::uint32_t i = blocks_[block_].begin; i < blocks_[block_].end; ++i) decode_instruction(i);
  }
  block_leaders_[blocks_.size()] = static_cast<std::uint32_t>(code_.operations.size());
  block_of_[function.body.size()] = static_cast<std::uint32_t>(blocks_.size());
  begin_block(); // where control that falls off the end goes, and labels at the end
  emit(leave_function);
  for (const Fix& fix : local_fixes_)
    fixes_.push_back({fix.operation, fix.is_target, block_leaders_[block_of_[fix.place]]});
  for (auto [list_index, instruction] : table_fixes_)
    code_.lists[list_index] = block_leaders_[block_of_[instruction]];
  frame.bytes = allocate(0, row_alignment);
}

void Decoder::begin_block() {
  leader_ = static_cast<std::uint32_t>(code_.operations.size());
  emit(lead_block);
}

void Decoder::decode_instruction(std::uint32_t index) {
  const ptx::Instruction& instruction = function_->body[index];
  location_ = instruction.location;
  const Opcode* opcode = find_opcode(instruction.opcode);
  bool guarded = instruction.guard.predicate >= 0;
  std::size_t first = code_.operations.size();
  std::uint32_t guard_row = 0;
  try {
    if (guarded) guard_row = row_of_guard(instruction);
  } catch (const NotSupported& reason) {
    return emit_unsupported(reason.what());
  }
  if (guarded && opcode && opcode->guarding == Guarding::skips) {
    Operation& skip = emit(skip_unless);
    skip.guard = guard_row;
    skip.guard_negated = instruction.guard.negated;
    begin_block();
  }
  const std::size_t checks = code_.operations.size();
  try {
    emit_follow_unset(instruction);
  } catch (const std::logic_error&) { // the instruction itself reports it
    take_back(checks);
  }
  std::size_t body = code_.operations.size();
  const std::uint32_t leader = leader_;
  const auto stop_here = [&](const std::string& reason) {
    take_back(body);
    leader_ = leader;
    emit_unsupported(reason);
  };
  try {
    if (!opcode) refuse(instruction);
    opcode->decode(*this, instruction);
  } catch (const NotSupported& reason) {
    stop_here(reason.what());
  } catch (const std::out_of_range&) {
    stop_here(fmt::format("the instruction {} lacks an operand", instruction.name()));
  }
  if (body < code_.operations.size()) {
    OperationFacts& facts = code_.facts[body];
    facts.is_instruction = true, facts.begins_wait = begins_wait_[index];
    facts.is_repeated =
        instruction.name().starts_with("bar.warp.sync") && ptx::is_in_loop(blocks_, block_of_[index]);
    facts.of_library = instruction.of_library, facts.of_other_file = instruction.of_other_file;
    facts.orders = instruction.orders;
    facts.synchronising = synchronising_[index];
    facts.is_printed = printed_[index];
    facts.is_restored = restored_[index];
    facts.is_copied = copied_[index];
    code_.prints |= facts.is_printed;
    code_.polls |= facts.synchronising.polls;
    if (const ptx::Chooser& chooser = choosers_[index]; chooser.predicate >= 0) {
      facts.chooser = register_row(static_cast<std::uint32_t>(chooser.predicate));
      facts.chooser_negated = chooser.negated;
    }
    for (std::size_t i = body; i < code_.operations.size(); ++i) {
      if (code_.facts[i].leader == i) continue;
      code_.names[i] = instruction.name();
      code_.facts[i].pointers = pointers_[index];
      if (opcode && code_.facts[i].work == Work::other) code_.facts[i].work = opcode->work;
    }
    if (followed_) note_flow(instruction, body);
  }
  if (!guarded) return;
  if (opcode && opcode->guarding == Guarding::decodes) return;
  if (opcode && opcode->guarding == Guarding::skips) {
    auto after = static_cast<std::uint32_t>(code_.operations.size());
    begin_block();
    fixes_.push_back({static_cast<std::uint32_t>(first), true, after});
    fixes_.push_back({static_cast<std::uint32_t>(first), false, after});
    return;
  }
  for (std::size_t i = checks; i < code_.operations.size(); ++i) {
    Operation& op = code_.operations[i];
    op.guarded = op.run;
    op.run = guard;
    op.guard = guard_row;
    op.guard_negated = instruction.guard.negated;
  }
}

void Decoder::take_back(std::size_t count) {
  code_.operations.resize(count);
  code_.facts.resize(count);
  code_.names.resize(count);
  const auto is_gone = [&](const Fix& fix) { return fix.operation >= count; };
  std::erase_if(local_fixes_, is_gone);
  std::erase_if(fixes_, is_gone);
}

void Decoder::link() {
  Operation* base = code_.operations.data();
  for (const Fix& fix : fixes_)
    (fix.is_target ? base[fix.operation].target : base[fix.operation].reconvergence) = base + fix.place;
  for (std::size_t i = 0; i < code_.frames.size(); ++i) code_.frames[i].entry = base + frame_entries_[i];
}

Operation& Decoder::emit(Handler run) {
  auto index = static_cast<std::uint32_t>(code_.operations.size());
  Operation& op = code_.operations.emplace_back();
  code_.facts.emplace_back().leader = leader_;
  code_.names.emplace_back();
  op.run = run;
  op.index = index;
  op.location = location_;
  return op;
}

Operation& Decoder::emit(Handler run, std::uint32_t d, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  Operation& op = emit(run);
  op.d = d;
  op.a = a;
  op.b = b;
  op.c = c;
  return op;
}

void Decoder::emit_unsupported(const std::string& message) {
  Operation& op = emit(stop_unsupported);
  op.list = static_cast<std::uint32_t>(code_.messages.size());
  code_.messages.push_back(message);
}

std::uint32_t Decoder::list(std::span<const std::uint32_t> values) {
  auto at = static_cast<std::uint32_t>(code_.lists.size());
  code_.lists.insert(code_.lists.end(), values.begin(), values.end());
  return at;
}

void Decoder::set_target(Operation& op, std::uint32_t instruction) {
  local_fixes_.push_back({op.index, true, instruction});
}

void Decoder::set_reconvergence(Operation& op) {
  std::uint32_t dominator = blocks_[block_].post_dominator;
  if (dominator == ptx::BasicBlock::none) return;
  local_fixes_.push_back({op.index, false, blocks_[dominator].begin});
}

void Decoder::reconverge_after(std::uint32_t operation) {
  fixes_.push_back({operation, false, static_cast<std::uint32_t>(code_.operations.size())});
  begin_block();
}

void Decoder::set_jump_table(Operation& op, std::span<const std::uint32_t> instructions) {
  op.list = static_cast<std::uint32_t>(code_.lists.size());
  op.e = static_cast<std::uint32_t>(instructions.size());
  for (std::uint32_t instruction : instructions) {
    table_fixes_.emplace_back(static_cast<std::uint32_t>(code_.lists.size()), instruction);
    code_.lists.push_back(0);
  }
}

std::unique_ptr<Code> decode(const Program& program, std::uint32_t function, bool followed) {
  auto code = std::make_unique<Code>();
  code->program = &program;
  code->module = &program.module();
  Decoder(program, *code, followed).decode_kernel(function);
  if (followed) code->flow_of.resize(code->operations.size(), -1);
  return code;
}

SourceLine Code::line_at(std::uint32_t location) const {
  const ptx::Location& at = module->locations[location < module->locations.size() ? location : 0];
  return {module->files[at.file < module->files.size() ? at.file : 0], at.line, at.call_line};
}

SourceLine Code::line_of(const Operation& operation) const {
  return line_at(operation.location);
}

} // namespace warpfold::machine
