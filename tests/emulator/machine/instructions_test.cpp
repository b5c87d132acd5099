// Runs every case in cases/*.txt on the machine, and makes sure that every opcode in its tables has a case.
#include "case_file.hpp"

#include "machine/decoder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>

namespace {

using namespace warpfold;
using namespace warpfold::cases;

constexpr unsigned lanes = 32;
constexpr int target = 90;
constexpr unsigned char untouched = 0xa5;

std::vector<std::filesystem::path> case_files() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(CASES_FOLDER))
    if (entry.path().extension() == ".txt") found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

class Memory {
public:
  Memory(machine::AddressSpace& space, std::size_t bytes, int fill) : space_(space) {
    at_ = static_cast<unsigned char*>(space.allocate(bytes, machine::MemoryKind::device, "a test's memory"));
    std::memset(at_, fill, bytes);
  }
  ~Memory() { space_.release(at_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  unsigned char* slot(unsigned lane, std::size_t index) {
    return at_ + (lane * slots_per_lane + index) * slot_bytes;
  }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(at_); }

private:
  machine::AddressSpace& space_;
  unsigned char* at_ = nullptr;
};

machine::AddressSpace& address_space() {
  static machine::AddressSpace space(1 << 26);
  return space;
}

// The objects that cases name: 1 is a texture of 4 x 2 floats, 0 to 7; 2 one of 8 ints in linear memory, 0 to
// 7; 3 one of 2 layers of 4 x 1 floats; 4 and 5 are surfaces of 4 x 2 words and of 4 x 1 x 2 words.
std::shared_ptr<const machine::Textures> objects() {
  using machine::Shape;
  static Memory memory(address_space(), 256, 0);
  auto* const floats = memory.slot(0, 0);
  auto* const integers = memory.slot(0, 4);
  for (int i = 0; i < 8; ++i) {
    const float number = static_cast<float>(i);
    std::memcpy(floats + i * 4, &number, 4);
    std::memcpy(integers + i * 4, &i, 4);
  }
  const machine::TexelFormat of_floats{
      .kind = machine::TexelFormat::Kind::floating, .channels = 1, .channel_bytes = 4},
      of_words{.kind = machine::TexelFormat::Kind::unsigned_integer, .channels = 1, .channel_bytes = 4};
  const auto object = [](Shape shape, const machine::TexelFormat& format, void* begin, std::uint32_t width,
                         std::uint32_t height, std::uint32_t depth, bool is_surface) {
    machine::Texture made;
    made.resource = {.shape = shape,
                     .format = format,
                     .levels = {{.begin = reinterpret_cast<std::uint64_t>(begin),
                                 .width = width,
                                 .height = height,
                                 .depth = depth,
                                 .row_bytes = std::uint64_t{width} * 4,
                                 .slice_bytes = std::uint64_t{width} * height * 4}},
                     .label = "a test's array",
                     .is_surface = is_surface};
    made.sampler.address.fill(machine::AddressMode::clamp);
    return std::make_shared<const machine::Texture>(made);
  };
  auto all = std::make_shared<machine::Textures>();
  all->emplace(1, object(Shape::plane, of_floats, floats, 4, 2, 1, false));
  all->emplace(2, object(Shape::linear, of_words, integers, 8, 1, 1, false));
  all->emplace(3, object(Shape::layered_rows, of_floats, floats, 4, 1, 2, false));
  all->emplace(4, object(Shape::plane, of_words, memory.slot(1, 0), 4, 2, 1, true));
  all->emplace(5, object(Shape::layered_rows, of_words, memory.slot(1, 4), 4, 1, 2, true));
  return all;
}

unsigned __int128 read_slot(unsigned char* from, ptx::Type type) {
  unsigned __int128 bits = 0;
  std::memcpy(&bits, from, type == ptx::Type::pred ? 4 : ptx::size_of(type));
  return bits;
}

bool lane_is_right(const std::string& path, const Instruction& instruction, unsigned lane, bool takes_part,
                   Memory& outputs) {
  const Lane& expected = instruction.lanes[lane % instruction.lanes.size()];
  for (std::size_t i = 0; i < instruction.outputs.size(); ++i) {
    ptx::Type type = instruction.outputs[i].type;
    auto found = read_slot(outputs.slot(lane, i), type);
    Value wanted = expected.outputs[i];
    if (!takes_part)
      std::memset(&wanted.bits, untouched, type == ptx::Type::pred ? 1 : ptx::size_of(type)),
          wanted.tolerance = 0;
    if (!agrees(wanted, found, type))
      ADD_FAILURE_AT(path.c_str(), static_cast<int>(takes_part ? expected.line : instruction.line))
          << instruction.text << ": lane " << lane << (takes_part ? "" : ", which takes no part,") << " has "
          << instruction.outputs[i].letter << " = " << show(found, type) << ", not "
          << show(wanted.bits, type);
    if (!agrees(wanted, found, type)) return false;
  }
  return true;
}

void run(const std::string& path, const CaseFile& file, const Instruction& instruction, Wrapping wrapping) {
  std::string text = wrap(file, instruction, wrapping, target);
  machine::Program program(ptx::parse(text), address_space());
  std::size_t bytes = lanes * slots_per_lane * slot_bytes;
  Memory inputs(address_space(), bytes, 0), outputs(address_space(), bytes, untouched);
  Memory memory(address_space(), std::size_t{lanes} * memory_bytes, 0);
  if (!instruction.lanes.empty())
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const Lane& values = instruction.lanes[lane % instruction.lanes.size()];
      for (std::size_t i = 0; i < values.inputs.size(); ++i)
        std::memcpy(inputs.slot(lane, i), &values.inputs[i].bits, slot_bytes);
    }
  std::uint64_t parameters[] = {inputs.address(), outputs.address(), memory.address()};
  machine::LaunchShape shape;
  shape.block = {lanes, 1, 1};
  machine::LaunchRecord record = machine::launch(
      *program.kernel("test"), shape, std::as_bytes(std::span(parameters)),
      {.workers = 1, .step_limit = 1 << 20, .watcher = nullptr, .textures = objects(), .schedule = {}});
  auto line = static_cast<int>(instruction.line);
  if (!instruction.fault.empty()) {
    std::string message = record.fault ? record.fault->message : "it ran to its end";
    if (message.find(instruction.fault) == std::string::npos)
      ADD_FAILURE_AT(path.c_str(), line)
          << instruction.text << " should stop with: " << instruction.fault << "\nbut: " << message;
    return;
  }
  if (record.fault) {
    ADD_FAILURE_AT(path.c_str(), line) << instruction.text << ": " << record.fault->message;
    return;
  }
  for (unsigned lane = 0; lane < lanes; ++lane)
    if (!lane_is_right(path, instruction, lane, wrapping == Wrapping::plain || lane % 2 == 1, outputs))
      return;
}

class Cases : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Cases, ComeOutAsExpected) {
  CaseFile file = read_cases(GetParam());
  for (const Instruction& instruction : file.instructions)
    for (Wrapping wrapping : {Wrapping::plain, Wrapping::branch, Wrapping::guard})
      if (is_possible(wrapping, instruction)) try {
          run(GetParam().string(), file, instruction, wrapping);
        } catch (const std::exception& error) {
          if (instruction.fault.empty() ||
              std::string_view(error.what()).find(instruction.fault) == std::string_view::npos)
            ADD_FAILURE_AT(GetParam().c_str(), static_cast<int>(instruction.line))
                << instruction.text << ": " << error.what();
        }
}

std::string name_of(const ::testing::TestParamInfo<std::filesystem::path>& info) {
  return info.param.stem().string();
}
INSTANTIATE_TEST_SUITE_P(Instruction, Cases, ::testing::ValuesIn(case_files()), name_of);

// The words that begin a statement anywhere in the cases, including function bodies.
std::set<std::string> opcodes_with_cases() {
  std::set<std::string> found;
  for (const auto& path : case_files()) {
    CaseFile file = read_cases(path);
    std::string all = file.preamble;
    for (const Instruction& instruction : file.instructions) all += instruction.text + ";\n";
    std::string word;
    for (char c : all) {
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
        word += c;
        continue;
      }
      if (!word.empty()) found.insert(word);
      word.clear();
    }
  }
  return found;
}

TEST(Opcodes, EachHasACase) {
  using namespace warpfold::machine;
  std::set<std::string> covered = opcodes_with_cases();
  std::string missing;
  for (auto family : families())
    for (const Opcode& opcode : family)
      if (!covered.contains(std::string(opcode.name))) missing += " " + std::string(opcode.name);
  EXPECT_EQ(missing, "") << "opcodes that no file of " << CASES_FOLDER << " uses";
}

// Otherwise the decoder would take whichever comes first.
TEST(Opcodes, EachIsInOneFamily) {
  std::set<std::string_view> seen;
  for (auto family : machine::families())
    for (const machine::Opcode& opcode : family)
      EXPECT_TRUE(seen.insert(opcode.name).second) << opcode.name << " stands in two tables";
}

} // namespace
