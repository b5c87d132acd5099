#include "run/sandboxed/device_process.hpp"

#include "input/options.hpp"
#include "run/emulator.hpp"
#include "run/endings.hpp"
#include "run/memory.hpp"
#include "run/runner.hpp"
#include "run/sandboxed/host_process.hpp"
#include "run/sandboxed/messages.hpp"
#include "run/watchdog.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lab {
namespace {

using grading::Message;

enum class Ask : std::uint8_t { run, count, reset, report, set };
enum class Told : std::uint8_t {
  done,
  cuda_error,
  host_lost,
  over,
  failed
}; // over: it ends, and this is its last word

void put(Message& to, const Sequence& input) {
  to.put(input.type).put(input.kind).put(input.op).put(input.n).put(input.period).put(input.seed);
  to.put(input.values.data(), input.values.size());
}

Sequence take_sequence(Message& from) {
  Sequence input;
  input.type = from.take<Type>(), input.kind = from.take<Kind>(), input.op = from.take<Operator>();
  input.n = from.take<std::size_t>(), input.period = from.take<std::size_t>();
  input.seed = from.take<std::uint64_t>();
  input.values = from.take_bytes();
  return input;
}

void put(Message& to, const Outcome& outcome) {
  to.put(outcome.results.data(), outcome.results.size() * sizeof(double));
  to.put(outcome.bits.data(), outcome.bits.size());
  to.put(outcome.error).put(outcome.input_change).put(outcome.damage).put(outcome.in_vain);
  to.put(outcome.device_lost).put(outcome.stopped);
  to.put(outcome.followed.graph).put(outcome.followed.results);
  to.put(outcome.followed.input.data(), outcome.followed.input.size() * sizeof(Followed::Part));
}

// `count`: how many results there must be, unless the run failed.
Outcome take_outcome(Message& from, std::size_t count) {
  Outcome outcome;
  const std::vector<std::byte> results = from.take_bytes();
  outcome.results.resize(results.size() / sizeof(double));
  if (!outcome.results.empty())
    std::memcpy(outcome.results.data(), results.data(), outcome.results.size() * sizeof(double));
  outcome.bits = from.take_bytes();
  for (std::string* text : {&outcome.error, &outcome.input_change, &outcome.damage, &outcome.in_vain})
    *text = from.take_text();
  outcome.device_lost = from.take<std::uint8_t>() != 0, outcome.stopped = from.take<std::uint8_t>() != 0;
  outcome.followed.graph = from.take_text(), outcome.followed.results = from.take<std::uint64_t>();
  const std::vector<std::byte> parts = from.take_bytes();
  outcome.followed.input.resize(parts.size() / sizeof(Followed::Part));
  if (!outcome.followed.input.empty())
    std::memcpy(outcome.followed.input.data(), parts.data(),
                outcome.followed.input.size() * sizeof(Followed::Part));
  if (outcome.error.empty() && outcome.results.size() != count)
    throw std::runtime_error("the process with the emulator returned another number of results");
  return outcome;
}

// ---- the process that judges

class InAnotherProcess final : public Runner {
public:
  InAnotherProcess(int socket, pid_t process) : socket_(socket), process_(process) { answer(); }

  void reset() override {
    if (!last_report_) ask(Message().put(Ask::reset));
  }
  std::string report() override {
    return last_report_ ? *last_report_ : ask(Message().put(Ask::report)).take_text();
  }
  void set(const std::string& option, const std::string& value) override {
    if (!last_report_) ask(Message().put(Ask::set).put(option).put(value));
  }

private:
  Outcome do_run(const Variant& variant, const Case& given, const Sequence& input) override {
    Message answer = ask(call(Ask::run, variant, given, input));
    return take_outcome(answer, results_of(variant, given));
  }
  Counted do_count(const Variant& variant, const Case& given, const Sequence& input) override {
    Message answer = ask(call(Ask::count, variant, given, input));
    Counted counted;
    counted.outcome = take_outcome(answer, results_of(variant, given));
    counted.recorded = recorded_from(answer.take_text());
    return counted;
  }

  static Message call(Ask what, const Variant& variant, const Case& given, const Sequence& input) {
    Message message;
    message.put(what).put(number_of(variant)).put(given);
    put(message, input);
    return message;
  }

  Message ask(const Message& question) {
    if (!question.send(socket_)) end_as_it_did();
    return answer();
  }

  Message answer() {
    std::optional<Message> answer = Message::receive(socket_);
    if (!answer) end_as_it_did();
    switch (answer->take<Told>()) {
    case Told::done:
      return std::move(*answer);
    case Told::cuda_error:
      throw DeviceError(answer->take_text());
    case Told::host_lost:
      throw HostLost(answer->take_text());
    case Told::over: {
      const std::string why = answer->take_text();
      last_report_ = answer->take_text();
      throw HostLost(why);
    }
    default:
      throw std::runtime_error(answer->take_text());
    }
  }

  // So that the grader sees how the process with the emulator ended, and has it looked at.
  [[noreturn]] void end_as_it_did() const {
    kill(process_, SIGKILL); // it may have closed its socket only
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    end_by(WIFSIGNALED(status) ? WTERMSIG(status) : SIGABRT);
  }

  const int socket_;
  const pid_t process_;
  std::optional<std::string> last_report_; // of a process that is over
};

void never_invoked(Variant::Function, const Arguments&) {
  std::abort();
}

// ---- the process with the emulator

Message perform(Message question, std::span<Rung> rungs) {
  Message answer;
  answer.put(Told::done);
  const Ask what = question.take<Ask>();
  if (what == Ask::reset) {
    runner().reset();
  } else if (what == Ask::report) {
    answer.put(runner().report());
  } else if (what == Ask::set) {
    const std::string option = question.take_text(), value = question.take_text();
    runner().set(option, value);
  } else {
    const auto number = question.take<VariantNumber>();
    const Variant& variant = rungs[number.rung].variants[number.variant];
    const auto given = question.take<Case>();
    const Sequence input = take_sequence(question);
    if (what == Ask::run) {
      put(answer, runner().run(variant, given, input));
    } else {
      const Counted counted = runner().count(variant, given, input);
      put(answer, counted.outcome);
      answer.put(counted.recorded.profile.report);
    }
  }
  return answer;
}

// What `make` returns, or what it throws.
template <class Make>
Message message_from(const Make& make) {
  const auto failed = [](Told how, const std::exception& error) {
    return Message().put(how).put(std::string(error.what()));
  };
  try {
    return make();
  } catch (const DeviceError& error) {
    return failed(Told::cuda_error, error);
  } catch (const HostLost& error) {
    return failed(Told::host_lost, error);
  } catch (const std::exception& error) {
    return failed(Told::failed, error);
  }
}

[[noreturn]] void serve(int socket, std::span<Rung> rungs, const Options& options, char** argv) {
  const auto tell = [socket](const Message& answer) {
    if (!answer.send(socket)) _exit(0); // the other process is over
  };
  // Of a run that does not come back although its kernel was stopped.
  const auto end = [tell](const Ending&) {
    tell(Message().put(Told::over).put(no_return_text()).put(emulator::report()));
    _exit(0);
  };
  start_watchdog(time_limit_for(options), end, {}, false);
  tell(message_from([&] {
    if (options.host)
      use_host_process(rungs, options);
    else
      use_device(runner().open(options.device, argv, options.devices));
    return Message().put(Told::done);
  }));
  for (;;) {
    std::optional<Message> question = Message::receive(socket);
    if (!question) _exit(0);
    tell(message_from([&] { return perform(std::move(*question), rungs); }));
  }
}

} // namespace

void split_off_device(std::span<Rung> rungs, const Options& options, char** argv) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    throw std::runtime_error(
        fmt::format("no socket for the grader's two processes: {}", std::strerror(errno)));
  const pid_t judge = getpid(), process = fork();
  if (process < 0) throw std::runtime_error(fmt::format("no second process: {}", std::strerror(errno)));
  close(sockets[process == 0 ? 0 : 1]);
  if (process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != judge) _exit(0);
    if (options.answer) close(*options.answer);
    serve(sockets[1], rungs, options, argv);
  }
  prctl(PR_SET_DUMPABLE, 0); // the other one, which has the same user, cannot open this one's memory
  if (options.host) close(*options.host);
  number_variants(rungs, never_invoked);
  count_processor_time_of(process);
  use_runner(std::make_unique<InAnotherProcess>(sockets[0], process));
}

} // namespace lab
