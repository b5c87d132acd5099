#include "machine.hpp"

#include "block.hpp"
#include "demangled.hpp"
#include "reach.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <mutex>

namespace warpfold::machine {

namespace {

bool in_device_memory(const ptx::Variable& variable) {
  return !variable.is_extern &&
         (variable.space == ptx::Space::global || variable.space == ptx::Space::constant);
}

} // namespace

Program::Program(ptx::Module module, AddressSpace& memory, ProgramPlace place)
    : module_(std::move(module)), memory_(&memory), place_(std::move(place)) {
  std::uint64_t constant_bytes = 0;
  for (const ptx::Variable& variable : module_.variables) {
    PlacedVariable& placed =
        variables_.emplace_back(PlacedVariable{std::string(variable.name), 0, variable.size});
    if (!in_device_memory(variable)) continue;
    bool constant = variable.space == ptx::Space::constant;
    if (constant) constant_bytes += variable.size;
    if (variable.alignment > AddressSpace::alignment)
      throw std::runtime_error(
          fmt::format("the variable {} requires an alignment of {} bytes", placed.name, variable.alignment));
    if (is_managed(placed.name) && place_.first) {
      placed.address = place_.first->variable(placed.name)->address;
      continue;
    }
    const std::string label = fmt::format("the variable {}", demangled(placed.name));
    void* at = is_managed(placed.name)
                   ? memory.allocate_shared_variable(variable.size, label)
                   : memory.allocate(variable.size, constant ? MemoryKind::constant : MemoryKind::variable,
                                     label, place_.device);
    placed.address = reinterpret_cast<std::uint64_t>(at);
  }
  if (constant_bytes > Limits::constant_bytes)
    throw std::runtime_error(
        fmt::format("{} bytes of constant memory; the limit is {}", constant_bytes, Limits::constant_bytes));
  initialise([](ptx::Space) { return true; });
  for (std::uint32_t i = 0; i < module_.functions.size(); ++i)
    if (module_.functions[i].is_entry && module_.functions[i].has_body) kernels_.emplace_back(*this, i);
}

void Program::restore_variables() {
  initialise([](ptx::Space space) { return space == ptx::Space::global; });
}

void Program::initialise(bool (*concerns)(ptx::Space)) {
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    if (!variables_[i].address || (is_managed(variables_[i].name) && place_.first)) continue;
    if (!concerns(module_.variables[i].space)) continue;
    std::memset(reinterpret_cast<void*>(variables_[i].address), 0, variables_[i].size);
    for (const ptx::Initialiser& initial : module_.variables[i].initial) {
      std::uint64_t bits = initial.bits + (initial.is_address ? address_of(initial.symbol) : 0);
      bits >>= initial.shift;
      std::memcpy(reinterpret_cast<std::byte*>(variables_[i].address) + initial.offset, &bits,
                  std::min<std::size_t>(initial.size, sizeof bits));
    }
  }
}

Program::~Program() {
  kernels_.clear();
  for (const PlacedVariable& variable : variables_)
    if (variable.address && !(is_managed(variable.name) && place_.first))
      memory_->release(reinterpret_cast<void*>(variable.address));
}

bool Program::is_managed(const std::string& variable) const {
  return std::find(place_.managed.begin(), place_.managed.end(), variable) != place_.managed.end();
}

Kernel* Program::kernel(std::string_view name) {
  auto found = std::find_if(kernels_.begin(), kernels_.end(),
                            [&](const Kernel& kernel) { return kernel.name() == name; });
  return found == kernels_.end() ? nullptr : &*found;
}

const PlacedVariable* Program::variable(std::string_view name) const {
  auto found = std::find_if(variables_.begin(), variables_.end(), [&](const PlacedVariable& variable) {
    return variable.address && variable.name == name;
  });
  return found == variables_.end() ? nullptr : &*found;
}

std::uint64_t Program::address_of(const ptx::Symbol& symbol) const {
  if (symbol.scope == ptx::Symbol::Scope::function) return function_window | symbol.index;
  if (symbol.scope != ptx::Symbol::Scope::module_variable) return 0;
  const PlacedVariable& variable = variables_[symbol.index];
  if (!variable.address)
    throw std::runtime_error(
        fmt::format("the variable {} is defined in another module, which is not linked to this one",
                    demangled(variable.name)));
  return variable.address;
}

const ptx::Function* Program::function_at(std::uint64_t address) const {
  const std::uint64_t index = address & ~window_mask;
  if ((address & window_mask) != function_window || index >= module_.functions.size()) return nullptr;
  return &module_.functions[index];
}

std::vector<Parameter> lay_out_parameters(const ptx::Function& kernel) {
  std::vector<Parameter> places;
  std::uint64_t bytes = 0;
  for (const ptx::Variable& parameter : kernel.parameters) {
    const std::uint64_t alignment = std::max<std::uint32_t>(1, parameter.alignment);
    bytes = (bytes + alignment - 1) / alignment * alignment;
    if (bytes + parameter.size > Limits::parameter_bytes)
      throw std::runtime_error(fmt::format("the parameters of {} take more than {} bytes",
                                           demangled(kernel.name), Limits::parameter_bytes));
    places.push_back({static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(parameter.size)});
    bytes += parameter.size;
  }
  return places;
}

std::uint32_t parameter_bytes(const ptx::Function& kernel) {
  const std::vector<Parameter> places = lay_out_parameters(kernel);
  return places.empty() ? 0 : places.back().offset + places.back().size;
}

Kernel::Kernel(Program& program, std::uint32_t function) : program_(&program), function_(function) {
  const ptx::Function& source = program.module().functions[function];
  parameters_ = lay_out_parameters(source);
  parameter_bytes_ = machine::parameter_bytes(source);
  for (const ptx::Variable& variable : source.variables)
    if (variable.space == ptx::Space::local)
      attributes_.local_per_thread += static_cast<std::uint32_t>(variable.size);
  std::uint64_t threads = 1;
  for (int i = 0; i < 3; ++i)
    if (std::uint32_t limit = source.required_threads[i] ? source.required_threads[i] : source.max_threads[i])
      threads *= limit;
  bool limited = source.required_threads[0] || source.max_threads[0];
  attributes_.max_threads_per_block = static_cast<std::uint32_t>(
      limited ? std::min<std::uint64_t>(threads, Limits::threads_per_block) : Limits::threads_per_block);
  // The number of registers is determined when PTX becomes machine code, which does not happen here. This is
  // a nominal figure with which 1024 threads can run.
  constexpr std::uint32_t nominal_registers = 32;
  attributes_.registers = nominal_registers;
  for (const ptx::Variable& variable : program.module().variables)
    if (variable.space == ptx::Space::constant)
      attributes_.constant += static_cast<std::uint32_t>(variable.size);
  attributes_.static_shared =
      lay_out_shared(program.module(), reach(program.module(), function), [](auto, auto, auto) {});
}

Kernel::~Kernel() = default;
Kernel::Kernel(Kernel&&) noexcept = default;

const std::string& Kernel::name() const {
  return program_->module().functions[function_].name;
}
const std::vector<Parameter>& Kernel::parameters() const {
  return parameters_;
}
std::uint32_t Kernel::parameter_bytes() const {
  return parameter_bytes_;
}
const KernelAttributes& Kernel::attributes() const {
  return attributes_;
}

const Code& Kernel::code(bool followed) {
  static constinit std::mutex mutex; // threads that issue work ask as well as those that do it
  std::lock_guard lock(mutex);
  std::unique_ptr<Code>& code = followed ? followed_code_ : code_;
  if (!code) code = decode(*program_, function_, followed);
  return *code;
}

} // namespace warpfold::machine
