// Builds the kernel around an instruction under test.
#include "case_file.hpp"

#include <fmt/format.h>

namespace warpfold::cases {

namespace {

// Registers hold 8-bit values in 16 bits; a predicate is passed as a word that is 0 or not.
std::string register_type(ptx::Type type) {
  if (type == ptx::Type::pred) return "pred";
  std::size_t bytes = ptx::size_of(type);
  using enum ptx::Type;
  if (type == f32 || type == f64) return std::string(ptx::name_of(type));
  return bytes <= 2 ? "b16" : bytes == 4 ? "b32" : bytes == 8 ? "b64" : "b128";
}

std::string load(const Operand& operand, unsigned slot, std::string_view from) {
  std::size_t bytes = ptx::size_of(operand.type);
  unsigned at = slot * slot_bytes;
  if (operand.type == ptx::Type::pred)
    return fmt::format("  ld.global.u32 word, [{0}+{1}];\n  setp.ne.u32 {2}, word, 0;\n", from, at,
                       operand.letter);
  if (bytes == 16)
    return fmt::format("  ld.global.v2.u64 {{wide0, wide1}}, [{}+{}];\n  mov.b128 {}, {{wide0, wide1}};\n",
                       from, at, operand.letter);
  std::string type =
      bytes == 1 ? (operand.type == ptx::Type::s8 ? "s8" : "u8") : "b" + std::to_string(8 * bytes);
  return fmt::format("  ld.global.{} {}, [{}+{}];\n", type, operand.letter, from, at);
}

std::string store(const Operand& operand, unsigned slot) {
  std::size_t bytes = ptx::size_of(operand.type);
  unsigned at = slot * slot_bytes;
  if (operand.type == ptx::Type::pred)
    return fmt::format("  selp.u32 word, 1, 0, {};\n  st.global.u32 [outputs+{}], word;\n", operand.letter,
                       at);
  if (bytes == 16)
    return fmt::format(
        "  mov.b128 {{wide0, wide1}}, {};\n  st.global.v2.u64 [outputs+{}], {{wide0, wide1}};\n",
        operand.letter, at);
  return fmt::format("  st.global.b{} [outputs+{}], {};\n", 8 * bytes, at, operand.letter);
}

std::string statements(const std::string& text, std::string_view guard) {
  return fmt::format("  {}{}{}\n", guard, text, text.starts_with('{') ? "" : ";");
}

} // namespace

bool is_possible(Wrapping wrapping, const Instruction& instruction) {
  if (wrapping == Wrapping::plain) return true;
  if (!instruction.fault.empty()) return false;
  for (std::string_view word : {"sync", "bar", "activemask", "exit", "vote", "atom.shared.add.u32 d, [0]"})
    if (instruction.text.find(word) != std::string::npos) return false;
  return wrapping == Wrapping::branch || instruction.text.find(';') == std::string::npos;
}

std::string wrap(const CaseFile& file, const Instruction& instruction, Wrapping wrapping, int target) {
  std::string text = fmt::format(".version 8.8\n.target sm_{}\n.address_size 64\n{}", target, file.preamble);
  text += "\n.visible .entry test(.param .u64 inputs_at, .param .u64 outputs_at, .param .u64 memory_at)\n{\n"
          "  .reg .b32 thread, offset, word, s;\n  .reg .b64 inputs, outputs, m, l, base, wide0, wide1;\n"
          "  .reg .pred is_odd;\n"
          "  .shared .align 16 .b8 shared_bytes[2048];\n  .local .align 16 .b8 local_bytes[64];\n";
  for (const auto* operands : {&instruction.inputs, &instruction.outputs})
    for (const Operand& operand : *operands)
      text += fmt::format("  .reg .{} {};\n", register_type(operand.type), operand.letter);
  text +=
      fmt::format("  mov.u32 thread, %tid.x;\n"
                  "  ld.param.u64 inputs, [inputs_at];\n  mad.wide.u32 inputs, thread, {0}, inputs;\n"
                  "  ld.param.u64 outputs, [outputs_at];\n  mad.wide.u32 outputs, thread, {0}, outputs;\n"
                  "  ld.param.u64 m, [memory_at];\n  mad.wide.u32 m, thread, {1}, m;\n"
                  "  mov.u32 s, shared_bytes;\n  mad.lo.u32 s, thread, {1}, s;\n  mov.u64 l, local_bytes;\n"
                  "  and.b32 word, thread, 1;\n  setp.eq.u32 is_odd, word, 1;\n",
                  slots_per_lane * slot_bytes, memory_bytes);
  unsigned slot = 0;
  for (const Operand& operand : instruction.inputs) text += load(operand, slot++, "inputs");
  // Outputs start with what their slots contain, so that an inactive lane can be seen to keep its value.
  slot = 0;
  for (const Operand& operand : instruction.outputs) text += load(operand, slot++, "outputs");
  if (wrapping == Wrapping::branch) text += "  @!is_odd bra after;\n";
  text += statements(instruction.text, wrapping == Wrapping::guard ? "@is_odd " : "");
  if (wrapping == Wrapping::branch) text += "after:\n";
  slot = 0;
  for (const Operand& operand : instruction.outputs) text += store(operand, slot++);
  return text + "  ret;\n}\n";
}

} // namespace warpfold::cases
