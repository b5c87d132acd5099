#include "compiler.hpp"

#include "barrier_source.hpp"
#include "processes.hpp"
#include "source_names.hpp"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <optional>

namespace warpfold::opencl {
namespace {

namespace fs = std::filesystem;

struct Tools {
  std::string clang, libclc;
};

// A Clang reads the libclc of its own version and of older ones, so the newest is looked for first.
std::optional<std::string> find_clang() {
  constexpr int newest = 40, oldest = 14;
  for (int version = newest; version >= oldest; --version)
    if (const auto found = on_path(fmt::format("clang-{}", version))) return found;
  return on_path("clang");
}

std::optional<std::string> find_libclc() {
  constexpr const char* name = "clc/nvptx64--nvidiacl.bc";
  for (const char* folder : {"/usr/lib", "/usr/share", "/usr/lib64", "/usr/local/lib", "/usr/local/share"})
    if (const fs::path path = fs::path(folder) / name; fs::exists(path)) return path.string();
  return std::nullopt;
}

std::optional<Tools> find_tools() {
  const auto clang = find_clang(), libclc = find_libclc();
  if (!clang || !libclc) return std::nullopt;
  return Tools{*clang, *libclc};
}

constexpr const char* missing = "OpenCL C is compiled with Clang and libclc, and {} not found here.\n"
                                "Debian and Ubuntu have both: install the packages clang-VERSION and "
                                "libclc-VERSION, of the same version.\n";

// Ids and sizes as OpenCL defines them, for launches that libclc's do not provide for: they have neither an
// offset nor a number of dimensions. `volatile`, since the driver writes what the program takes for constant.
constexpr const char* launch_values_source = R"(
volatile constant ulong warpfold_launch_values[4] = {0};
__attribute__((overloadable)) uint get_work_dim(void) { return warpfold_launch_values[3]; }
__attribute__((overloadable)) size_t get_global_offset(uint d) {
  return d < 3 ? warpfold_launch_values[d] : 0;
}
__attribute__((overloadable)) size_t get_global_id(uint d) {
  return get_group_id(d) * get_local_size(d) + get_local_id(d) + get_global_offset(d);
}
)";

std::string new_name(const char* kind) {
  static std::atomic<unsigned> count = 0;
  return fmt::format("{}{}", kind, ++count);
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

fs::path written(const std::string& name, const std::string& text) {
  const fs::path path = temporary_folder() / name;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

using Words = std::vector<std::string>;

const Words& for_every_call() {
  static const Words words{"--target=nvptx64--nvidiacl", "-Xclang", "-target-cpu", "-Xclang", "sm_75", "-O2"};
  return words;
}

// Runs Clang; the output file's contents are the translation.
Translation run(const Tools& tools, Words words, const fs::path& output) {
  words.insert(words.begin(), tools.clang);
  words.insert(words.end(), {"-o", output.string()});
  const Finished finished = run_program(words);
  return {finished.status == 0, finished.status == 0 ? read(output) : "", finished.output};
}

Translation refuse_without_tools() {
  const bool clang = find_clang().has_value(), libclc = find_libclc().has_value();
  const char* const which = clang ? "libclc was" : libclc ? "Clang was" : "neither was";
  return {false, "", fmt::format(fmt::runtime(missing), which)};
}

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

} // namespace

bool compiler_is_available() {
  return find_tools().has_value();
}

Translation translate(const std::string& source, const Words& options, const std::vector<Header>& headers) {
  const auto tools = find_tools();
  if (!tools) return refuse_without_tools();
  const std::string name = new_name("program");
  const fs::path path = written(name + ".cl", with_name(source));
  Words words{"-x",
              "cl",
              "-cl-std=CL1.2",
              "-Xclang",
              "-finclude-default-header",
              "-include",
              written(name + "/barrier.h", barrier_source).string(),
              "-cl-kernel-arg-info",
              "-gline-tables-only",
              "-Xclang",
              "-disable-llvm-passes",
              "-S",
              "-emit-llvm"};
  append(words, for_every_call());
  for (const Header& header : headers) written(name + "/" + header.name, header.text);
  append(words, options);
  words.insert(words.end(), {"-I", (temporary_folder() / name).string(), "-I", ".", path.string()});
  return run(*tools, words, temporary_folder() / (name + ".ll"));
}

Translation link(const std::vector<std::string>& parts, const Words& options, bool with_launch_values) {
  const auto tools = find_tools();
  if (!tools) return refuse_without_tools();
  const std::string name = new_name("linked");
  Words linked;
  const auto add = [&](const fs::path& bitcode) {
    linked.insert(linked.end(), {"-Xclang", "-mlink-bitcode-file", "-Xclang", bitcode.string()});
  };
  // Bitcode alone can be linked, and only to a source: an empty one.
  const auto to_bitcode = [&](const char* language, const std::string& text, Words words) {
    const std::string part = new_name(name.c_str());
    append(words, {"-x", language, written(part, text).string(), "-c", "-emit-llvm"});
    append(words, for_every_call());
    const fs::path output = temporary_folder() / (part + ".bc");
    Translation translation = run(*tools, words, output);
    if (translation.succeeded) add(output);
    return translation;
  };
  for (const std::string& part : parts)
    if (Translation made = to_bitcode("ir", part, {"-Xclang", "-disable-llvm-passes"}); !made.succeeded)
      return made;
  if (with_launch_values)
    if (Translation made =
            to_bitcode("cl", launch_values_source, {"-cl-std=CL1.2", "-Xclang", "-finclude-default-header"});
        !made.succeeded)
      return made;
  add(tools->libclc);
  Words words{"-x", "cl", "-cl-std=CL1.2"};
  append(words, linked);
  append(words, for_every_call());
  append(words, options);
  append(words, {"-S", written(name + ".cl", "").string()});
  Translation made = run(*tools, words, temporary_folder() / (name + ".ptx"));
  if (!made.succeeded && made.log.find(tools->libclc) != made.log.npos)
    made.log += "libclc is newer than Clang: install clang-VERSION of libclc's version.\n";
  return made;
}

} // namespace warpfold::opencl
