#include "run/sandboxed/host_process.hpp"
#include "run/in_this_process.hpp"

#include "input/options.hpp"
#include "input/sequence.hpp"
#include "input/source_file.hpp"
#include "run/device.hpp"
#include "run/emulator.hpp"
#include "run/runner.hpp"
#include "run/sandboxed/device_code.hpp"
#include "run/sandboxed/protocol.hpp"
#include "run/sandboxed/recording.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <tuple>

#include <cuda_runtime_api.h>

namespace lab {
namespace {

using namespace grading;

// The most that one run of a host function may ask for.
constexpr std::size_t most_messages = 20000, most_upload = 4 << 20, most_allocations = 256;
constexpr int patience = 10000; // milliseconds without a word

class HostProcess {
public:
  HostProcess(int socket, std::span<Rung> rungs, std::string ptx)
      : socket_(socket), rungs_(rungs), code_(std::move(ptx)), packet_(largest_packet) {
    if (const Head head = receive(); head.kind != word(Say::ready) || head.value != protocol_version)
      throw HostLost("the program in the sandbox does not start as a lab's program does");
  }

  void invoke(std::size_t rung, std::size_t variant, const Arguments& arguments) {
    const Rung& run = rungs_[rung];
    const Call call{rung, variant, arguments.result, arguments.n, arguments.rows, arguments.block};
    if (const auto known = recordings_.find(call); known != recordings_.end())
      return known->second.replay(reinterpret_cast<std::uint64_t>(arguments.input));
    begin(run, run.variants[variant], arguments);
    Invoke invocation{static_cast<std::uint32_t>(rung),
                      static_cast<std::uint32_t>(variant),
                      arguments.block,
                      device().multiprocessors,
                      device().threads_per_multiprocessor,
                      static_cast<std::uint32_t>(device().compute_capability),
                      reinterpret_cast<std::uint64_t>(arguments.input),
                      reinterpret_cast<std::uint64_t>(arguments.result),
                      arguments.n,
                      arguments.rows};
    send(Say::invoke, 0, &invocation, sizeof invocation);
    for (std::size_t messages = 0;; ++messages) {
      if (messages == most_messages)
        throw HostLost(
            fmt::format("the host function asks for more than {} launches and copies", most_messages));
      const Head head = receive();
      if (head.kind == word(Say::done)) break;
      carry_out(head);
    }
    for (const auto& [pointer, range] : allocations_) cudaFree(reinterpret_cast<void*>(pointer));
    allocations_.clear();
    if (is_replaying_ && can_be_replayed_) recordings_[call] = {input_, std::move(steps_)};
  }

  void replay(bool wanted) {
    is_replaying_ = wanted;
    recordings_.clear();
  }

  const std::string& in_vain() const { return in_vain_; }

private:
  // Rung, variant, result, n, rows, block.
  using Call = std::tuple<std::size_t, std::size_t, const void*, std::size_t, std::size_t, unsigned>;

  static std::uint32_t word(Say kind) { return static_cast<std::uint32_t>(kind); }

  void begin(const Rung& rung, const Variant& variant, const Arguments& arguments) {
    const std::size_t width = size_of(variant.type);
    const auto range = [](const void* pointer, std::size_t bytes) {
      const auto first = reinterpret_cast<std::uint64_t>(pointer);
      return Range{first, first + bytes};
    };
    input_ = range(arguments.input, arguments.n * width);
    const std::size_t results = variant.maps_rows ? arguments.n : arguments.rows;
    result_ = range(arguments.result, results * size_of(variant.result_type));
    scratch_.clear();
    in_vain_.clear();
    uploaded_ = 0;
    steps_.clear();
    can_be_replayed_ = true;
    const Size size = rung.size(arguments.n, arguments.block, 0, arguments.rows);
    may_read_ = rung.most_read_back ? static_cast<std::size_t>(rung.most_read_back(size)) * width : 0;
  }

  // ---- packets

  void send(Say kind, std::uint64_t value, const void* payload = nullptr, std::size_t bytes = 0) {
    Head head{word(kind), static_cast<std::uint32_t>(bytes), value};
    iovec parts[] = {{&head, sizeof head}, {const_cast<void*>(payload), bytes}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    // A process that has stopped reading must not stop this one either.
    while (sendmsg(socket_, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
      if (errno == EINTR) continue;
      pollfd wait{socket_, POLLOUT, 0};
      if ((errno == EAGAIN || errno == EWOULDBLOCK) && poll(&wait, 1, patience) > 0) continue;
      throw HostLost("the host function ended the program");
    }
  }

  // The payload stays in `payload_` until the next call.
  Head receive() {
    pollfd wait{socket_, POLLIN, 0};
    int ready = 0;
    while ((ready = poll(&wait, 1, patience)) < 0 && errno == EINTR) {
    }
    if (ready == 0)
      throw HostLost(
          fmt::format("the host function does not end: no word from it for {} s", patience / 1000));
    iovec part{packet_.data(), packet_.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    ssize_t got = 0;
    while ((got = recvmsg(socket_, &message, 0)) < 0 && errno == EINTR) {
    }
    if (got <= 0) throw HostLost("the host function ended the program");
    Head head;
    if (message.msg_flags & MSG_TRUNC || static_cast<std::size_t>(got) < sizeof head) throw nonsense();
    std::memcpy(&head, packet_.data(), sizeof head);
    if (head.bytes != static_cast<std::size_t>(got) - sizeof head) throw nonsense();
    payload_ = std::span(packet_).subspan(sizeof head, head.bytes);
    return head;
  }

  static HostLost nonsense() {
    return HostLost("the program in the sandbox sent what no lab's program sends");
  }

  // The payload's first bytes as a T; the rest of it is left in payload_.
  template <class T>
  T take() {
    T value;
    if (payload_.size() < sizeof value) throw nonsense();
    std::memcpy(&value, payload_.data(), sizeof value);
    payload_ = payload_.subspan(sizeof value);
    return value;
  }
  std::string take_name(std::size_t bytes) {
    if (payload_.size() < bytes || bytes > 4096) throw nonsense();
    std::string name(reinterpret_cast<const char*>(payload_.data()), bytes);
    payload_ = payload_.subspan(bytes);
    if (name.find('\0') != name.npos) throw nonsense();
    return name;
  }
  void nothing_left() const {
    if (!payload_.empty()) throw nonsense();
  }

  // ---- what is asked

  template <class Step>
  void perform(Step step) {
    step(Moved{});
    if (is_replaying_) steps_.push_back(std::move(step));
  }

  void carry_out(const Head& head) {
    switch (static_cast<Say>(head.kind)) {
    case Say::kernel:
      return describe_kernel();
    case Say::launch:
      return launch();
    case Say::set:
      return set(static_cast<unsigned char>(head.value));
    case Say::upload:
      return upload();
    case Say::copy:
      return copy();
    case Say::read:
      return read();
    case Say::scratch:
      return scratch(head.value);
    case Say::allocate:
      return allocate(head.value);
    case Say::release:
      return release(head.value);
    case Say::shared_limit:
      return set_attribute(cudaFuncAttributeMaxDynamicSharedMemorySize, head.value);
    case Say::clusters:
      return set_attribute(cudaFuncAttributeNonPortableClusterSizeAllowed, head.value);
    case Say::occupancy:
      return occupancy();
    case Say::refused:
      return refuse();
    default:
      throw nonsense();
    }
  }

  void describe_kernel() {
    const std::string name = take_name(payload_.size());
    std::vector<std::uint32_t> sizes;
    if (const DeviceCode::Kernel* kernel = code_.find(name)) sizes = kernel->parameters;
    send(Say::answer, sizes.size(), sizes.data(), sizes.size() * sizeof sizes[0]);
  }

  void launch() {
    const auto request = take<Launch>();
    const std::string name = take_name(request.name_bytes);
    const DeviceCode::Kernel* kernel = code_.find(name);
    if (!kernel) { // the emulator has said why on stderr; the result shows that nothing ran
      in_vain_ = fmt::format("there is no kernel {} in the device code", name);
      return;
    }
    std::size_t expected = 0;
    for (const std::uint32_t size : kernel->parameters) expected += size;
    if (request.parameter_bytes != expected || payload_.size() != expected) throw nonsense();
    // Copies the parameters, so that each is aligned.
    std::vector<Parameter> parameters;
    for (const std::uint32_t size : kernel->parameters) {
      parameters.push_back(
          {std::shared_ptr<std::byte[]>(new std::byte[std::max<std::size_t>(size, 1)]), size});
      std::memcpy(parameters.back().bytes.get(), payload_.data(), size);
      payload_ = payload_.subspan(size);
    }
    const dim3 grid(request.grid[0], request.grid[1], request.grid[2]),
        block(request.block[0], request.block[1], request.block[2]),
        cluster(request.cluster[0], request.cluster[1], request.cluster[2]);
    perform([=, shared = request.shared, cooperative = request.cooperative != 0](const Moved& moved) {
      std::vector<std::uint64_t> pointers(parameters.size());
      std::vector<void*> arguments;
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        arguments.push_back(parameters[i].bytes.get());
        if (parameters[i].size != sizeof pointers[i]) continue;
        std::memcpy(&pointers[i], parameters[i].bytes.get(), sizeof pointers[i]);
        pointers[i] = moved(pointers[i]);
        arguments.back() = &pointers[i];
      }
      arguments.push_back(nullptr);
      if (cooperative) {
        cudaLaunchCooperativeKernel(kernel->handle, grid, block, arguments.data(), shared, nullptr);
      } else if (cluster.x != 1 || cluster.y != 1 || cluster.z != 1) {
        cudaLaunchAttribute in_clusters{};
        in_clusters.id = cudaLaunchAttributeClusterDimension;
        in_clusters.val.clusterDim = {cluster.x, cluster.y, cluster.z};
        const cudaLaunchConfig_t config{grid, block, shared, nullptr, &in_clusters, 1};
        cudaLaunchKernelExC(&config, kernel->handle, arguments.data());
      } else {
        cudaLaunchKernel(kernel->handle, grid, block, arguments.data(), shared, nullptr);
      }
    });
  }

  bool is_device_memory(std::uint64_t first, std::uint64_t bytes) const {
    if (input_.holds(first, bytes) || result_.holds(first, bytes)) return true;
    const auto holds = [&](const Range& range) { return range.holds(first, bytes); };
    return std::any_of(scratch_.begin(), scratch_.end(), holds) ||
           std::any_of(allocations_.begin(), allocations_.end(),
                       [&](const auto& each) { return holds(each.second); });
  }

  // The bytes that the rows of a copy span; nothing if that is impossible.
  static std::optional<std::uint64_t> extent(std::uint64_t pitch, std::uint64_t width, std::uint64_t height) {
    if (width == 0 || height == 0) return 0;
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(pitch, height - 1, &bytes) || __builtin_add_overflow(bytes, width, &bytes))
      return std::nullopt;
    return bytes;
  }
  bool reaches_outside(std::uint64_t first, std::uint64_t pitch, const Move& move, const char* what) {
    const auto bytes = extent(pitch, move.width, move.height);
    if (bytes && is_device_memory(first, *bytes)) return false;
    in_vain_ = fmt::format("{} of memory that is not the device's, or not all of it, was refused", what);
    return true;
  }

  void set(unsigned char value) {
    const auto move = take<Move>();
    nothing_left();
    if (reaches_outside(move.to, move.to_pitch, move, "a cudaMemset")) return;
    perform([=](const Moved& moved) {
      if (move.height == 1) {
        cudaMemset(moved.pointer(move.to), value, move.width);
      } else {
        cudaMemset2D(moved.pointer(move.to), move.to_pitch, value, move.width, move.height);
      }
    });
  }

  void upload() {
    const auto move = take<Move>();
    if (move.width != payload_.size() || move.height != 1) throw nonsense();
    uploaded_ += move.width;
    if (uploaded_ > most_upload) {
      in_vain_ = fmt::format("more than {} bytes were to be copied from the host to the device", most_upload);
      return;
    }
    if (reaches_outside(move.to, move.width, move, "a copy to the device")) return;
    perform([=, bytes = std::vector<std::byte>(payload_.begin(), payload_.end())](const Moved& moved) {
      cudaMemcpy(moved.pointer(move.to), bytes.data(), bytes.size(), cudaMemcpyHostToDevice);
    });
  }

  void copy() {
    const auto move = take<Move>();
    nothing_left();
    if (reaches_outside(move.to, move.to_pitch, move, "a copy on the device") ||
        reaches_outside(move.from, move.from_pitch, move, "a copy on the device"))
      return;
    perform([=](const Moved& moved) {
      if (move.height == 1) {
        cudaMemcpy(moved.pointer(move.to), moved.pointer(move.from), move.width, cudaMemcpyDeviceToDevice);
      } else {
        cudaMemcpy2D(moved.pointer(move.to), move.to_pitch, moved.pointer(move.from), move.from_pitch,
                     move.width, move.height, cudaMemcpyDeviceToDevice);
      }
    });
  }

  // Zeros, except for the few elements that a rung finishes on the host, and never the input.
  void read() {
    const auto move = take<Move>();
    nothing_left();
    if (move.width > largest_payload || move.height != 1) throw nonsense();
    can_be_replayed_ = false;
    std::vector<std::byte> bytes(move.width);
    const Range asked{move.from, move.from + move.width};
    const bool in_input = asked.begin < input_.end && input_.begin < asked.end;
    if (in_input || move.width > may_read_ || !is_device_memory(move.from, move.width)) {
      in_vain_ =
          fmt::format("{} bytes of the device's memory were to be read back to the host, where this rung "
                      "has {} to read; it got zeros",
                      move.width, may_read_);
    } else {
      may_read_ -= move.width;
      cudaMemcpy(bytes.data(), reinterpret_cast<const void*>(move.from), bytes.size(),
                 cudaMemcpyDeviceToHost);
    }
    send(Say::answer, bytes.size(), bytes.data(), bytes.size());
  }

  void scratch(std::uint64_t bytes) {
    nothing_left();
    if (scratch_.size() >= most_allocations)
      throw HostLost("the host function takes scratch memory without end");
    if (bytes > device().memory)
      throw HostLost(fmt::format("the host function asks for {} bytes of scratch memory", bytes));
    const auto first = reinterpret_cast<std::uint64_t>(scratch_bytes(bytes));
    scratch_.push_back({first, first + bytes});
    send(Say::answer, first);
  }

  void allocate(std::uint64_t bytes) {
    nothing_left();
    can_be_replayed_ = false;
    void* pointer = nullptr;
    if (allocations_.size() >= most_allocations) throw HostLost("the host function allocates without end");
    if (bytes > device().memory || cudaMalloc(&pointer, bytes) != cudaSuccess) pointer = nullptr;
    const auto first = reinterpret_cast<std::uint64_t>(pointer);
    if (pointer) allocations_[first] = {first, first + bytes};
    send(Say::answer, first);
  }

  void release(std::uint64_t pointer) {
    nothing_left();
    if (allocations_.erase(pointer) != 0) {
      cudaFree(reinterpret_cast<void*>(pointer));
    } else {
      in_vain_ = "a cudaFree of what cudaMalloc did not give was refused";
    }
  }

  void set_attribute(cudaFuncAttribute attribute, std::uint64_t value) {
    const DeviceCode::Kernel* kernel = code_.find(take_name(payload_.size()));
    if (kernel && value < (1u << 30))
      cudaFuncSetAttribute(kernel->handle, attribute, static_cast<int>(value));
  }

  void occupancy() {
    const auto asked = take<Occupancy>();
    const DeviceCode::Kernel* kernel = code_.find(take_name(asked.name_bytes));
    nothing_left();
    int blocks = 0;
    if (kernel && asked.threads <= 1024)
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel->handle, static_cast<int>(asked.threads),
                                                    asked.shared);
    cudaGetLastError(); // what the student asked about may be impossible
    send(Say::answer, static_cast<std::uint64_t>(blocks));
  }

  void refuse() {
    in_vain_ = fmt::format("{} is not known to the class's grader", take_name(payload_.size()));
  }

  const int socket_;
  const std::span<Rung> rungs_;
  DeviceCode code_;
  std::vector<std::byte> packet_;
  std::span<std::byte> payload_;
  Range input_, result_;
  std::vector<Range> scratch_;
  std::map<std::uint64_t, Range> allocations_;
  std::size_t uploaded_ = 0, may_read_ = 0;
  std::string in_vain_;
  bool is_replaying_ = false, can_be_replayed_ = false;
  std::vector<Recording::Step> steps_; // of the host function that runs
  std::map<Call, Recording> recordings_;
};

std::unique_ptr<HostProcess> the_host;

VariantNumber number_of_function(Variant::Function function) {
  const std::size_t number = reinterpret_cast<std::size_t>(function) - 1;
  return {number / Implementation::max_variants, number % Implementation::max_variants};
}

void invoke_remotely(Variant::Function called, const Arguments& arguments) {
  const VariantNumber number = number_of_function(called);
  the_host->invoke(number.rung, number.variant, arguments);
}

// This process's runner, whose outcomes say what the host function asked for in vain.
class WithHostProcess final : public Runner {
public:
  void reset() override { here_->reset(); }
  std::string report() override { return here_->report(); }
  void set(const std::string& option, const std::string& value) override { here_->set(option, value); }

private:
  Outcome do_run(const Variant& variant, const Case& given, const Sequence& input) override {
    Outcome outcome = here_->run(variant, given, input);
    outcome.in_vain = the_host->in_vain();
    return outcome;
  }
  Counted do_count(const Variant& variant, const Case& given, const Sequence& input) override {
    Counted counted = here_->count(variant, given, input);
    counted.outcome.in_vain = the_host->in_vain();
    return counted;
  }
  const std::unique_ptr<Runner> here_ = runner_in_this_process();
};

} // namespace

void number_variants(std::span<Rung> rungs, void (*invoke)(Variant::Function, const Arguments&)) {
  for (std::size_t rung = 0; rung < rungs.size(); ++rung) {
    for (int variant = 0; variant < rungs[rung].variant_count; ++variant) {
      const std::size_t number = rung * Implementation::max_variants + static_cast<std::size_t>(variant);
      rungs[rung].variants[variant].function = reinterpret_cast<Variant::Function>(1 + number);
      rungs[rung].variants[variant].invoke = invoke;
    }
  }
}

VariantNumber number_of(const Variant& variant) {
  return number_of_function(variant.function);
}

void use_host_process(std::span<Rung> rungs, const Options& options) {
  const std::optional<std::string> ptx = read_text(options.device_code);
  if (!ptx) throw std::runtime_error(fmt::format("--device-code {}: cannot be read", options.device_code));
  number_variants(rungs, invoke_remotely);
  the_host = std::make_unique<HostProcess>(*options.host, rungs, *ptx);
  use_runner(std::make_unique<WithHostProcess>());
  host_functions_run_elsewhere();
}

Replaying::Replaying() {
  if (the_host) the_host->replay(true);
}

Replaying::~Replaying() {
  if (the_host) the_host->replay(false);
}

} // namespace lab
