#include "processes.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace warpfold::opencl {

namespace fs = std::filesystem;

std::optional<std::string> on_path(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    folder.append("/").append(program);
    if (access(folder.c_str(), X_OK) == 0) return folder;
  }
  return std::nullopt;
}

Finished run_program(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe can be opened");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  Finished finished;
  std::array<char, 4096> buffer;
  for (ssize_t count = 0; error == 0 && (count = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
    finished.output.append(buffer.data(), static_cast<std::size_t>(count));
  close(ends[0]);
  if (error) throw std::runtime_error(fmt::format("{} cannot be run: {}", words[0], std::strerror(error)));
  int status = 0;
  if (waitpid(child, &status, 0) != child) throw std::runtime_error("the end of a child was not seen");
  finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return finished;
}

namespace {

// A child that is forked has the parent's folder, and leaves it alone.
class Folder {
public:
  Folder() : owner_(getpid()) {
    std::string name = (fs::temp_directory_path() / "warpfold-opencl-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error(fmt::format("no folder can be made: {}", name));
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    if (getpid() == owner_) fs::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path path;

private:
  pid_t owner_;
};

} // namespace

const fs::path& temporary_folder() {
  static const Folder folder;
  return folder.path;
}

} // namespace warpfold::opencl
