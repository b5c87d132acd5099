// A run whose values were followed, made by hand: its graph, and what is said of it.
#pragma once

#include "explain/result_tree.hpp"
#include "explain/value_graph.hpp"
#include "explain/where_values_went.hpp"

#include <bit>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

namespace lab {

// A run of two blocks of four threads on the elements 1, 2, 3 ..., whose values were followed.
class FollowedRun {
public:
  static constexpr std::uint64_t input = 1000, result = 5000;

  explicit FollowedRun(std::size_t n, Operator op = Operator::add) {
    given_.n = n, given_.block = 4;
    input_ = make_sequence(Type::float32, op, Kind::exact, n, 1);
    input_.period = n;
    elements_are(Type::float32);
  }

  void elements_are(Type type) {
    input_.type = type;
    for (std::size_t i = 0; i < input_.n; ++i)
      store_value(type, double(i + 1), input_.values.to_change() + i * size_of(type));
  }

  // A word: of elements of two bytes, two.
  unsigned load(std::size_t element, unsigned block, unsigned thread, unsigned line = 10) {
    return node(0, "ld.global.f32", line, block, thread, float(element + 1), input + 4 * element, {});
  }
  unsigned load_old_result(float value) {
    return node(0, "atom.global.add.f32", 30, 0, 0, value, result, {});
  }
  // A value in a register: a float's, or those of a double.
  struct Bits {
    Bits(float value) : of(std::bit_cast<std::uint32_t>(value)) {}
    static Bits of_double(double value) {
      Bits bits(0);
      bits.of = std::bit_cast<std::uint64_t>(value);
      return bits;
    }
    std::uint64_t of;
  };
  struct Operand {
    unsigned node;
    Bits value;
  };
  unsigned compute(const char* operation, unsigned line, unsigned thread, Bits value,
                   const std::vector<Operand>& operands, unsigned block = 0) {
    return node(2, operation, line, block, thread, value, 0, operands);
  }
  // By a library, on the host.
  unsigned call(const char* operation, const char* what, unsigned line, float value,
                const std::vector<Operand>& operands, unsigned width = 4) {
    library_call_ = what;
    return node(2, operation, line, 0, 0, value, 0, operands, width);
  }
  void lose(unsigned node, const char* place, unsigned line, unsigned thread, unsigned by_line = 0,
            unsigned by_thread = 0) {
    const std::string by =
        by_line ? fmt::format("[{},0,0,{}]", place_of("st.shared.f32", by_line), by_thread) : "null";
    append(losses_, fmt::format(R"([{},"{}",[{},0,0,{}],{}])", node, place, place_of("st.shared.f32", line),
                                thread, by));
  }
  // The host stores something there.
  void lose_to_host(unsigned node, const char* place, unsigned line) {
    append(losses_, fmt::format(R"([{},"{}",[{},0,0,0],[{},0,0,0]])", node, place,
                                place_of("st.global.f32", line), place_of("host", 0)));
  }
  // The host makes the result of these.
  unsigned on_host(float value, const std::vector<Operand>& copied) {
    std::string values;
    for (const Operand& each : copied) append(values, fmt::format("[{},{}]", each.node, each.value.of));
    append(host_copies_, fmt::format("[1,{}]", values));
    return node(1, "host", 0, 0, 0, value, 0, {});
  }
  void launch_nothing() { launches_.clear(); }
  Diagnosis said(unsigned root, double got) const {
    return from_values(outcome(std::to_string(root), {got}), given_, input_);
  }
  // Of one of several rows of one element each, whose results come from these nodes.
  Diagnosis said_of_row(std::size_t row, const std::string& roots, const std::vector<double>& got) const {
    Case given = given_;
    given.rows = given.n;
    return from_values(outcome(roots, got), given, input_, row);
  }
  nlohmann::ordered_json tree(unsigned root, double got) const {
    return result_tree(outcome(std::to_string(root), {got}), given_, input_, 0);
  }

private:
  Outcome outcome(const std::string& roots, const std::vector<double>& got) const {
    Outcome outcome;
    outcome.results = got;
    outcome.followed.results = result;
    outcome.followed.input = {{input, 0, given_.n}};
    outcome.followed.graph = fmt::format(
        R"({{"complete":true,"roots":[{}],"launches":[{}],"places":[{}],"nodes":[{}],"operands":[{}],"losses":[{}],"host_copies":[{}]}})",
        roots, launches_, places_, nodes_, operands_, losses_, host_copies_);
    return outcome;
  }

  static void append(std::string& list, const std::string& one) { list += (list.empty() ? "" : ",") + one; }
  unsigned place_of(const char* operation, unsigned line) {
    append(places_,
           fmt::format(R"(["{}","lab.cu",{},0,"{}"])", operation, line, std::exchange(library_call_, "")));
    return place_count_++;
  }
  unsigned node(int kind, const char* operation, unsigned line, unsigned block, unsigned thread, Bits value,
                std::uint64_t address, const std::vector<Operand>& operands, unsigned width = 4) {
    append(nodes_, fmt::format("[{},{},[{},0,{},{}],{},{},{},{}]", kind, width, place_of(operation, line),
                               block, thread, value.of, address, operand_count_, operands.size()));
    for (const Operand& operand : operands)
      append(operands_, fmt::format("[{},{}]", operand.node, operand.value.of));
    operand_count_ += operands.size();
    return 3 + node_count_++;
  }

  Case given_;
  Sequence input_;
  std::string launches_ = R"(["kernel",2,4,0,true,[]])";
  std::string nodes_, operands_, places_, losses_, host_copies_, library_call_;
  unsigned node_count_ = 0, place_count_ = 0;
  std::size_t operand_count_ = 0;
};

} // namespace lab
