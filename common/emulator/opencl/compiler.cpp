#include "compiler.hpp"

#include "barrier_source.hpp"
#include "built_ins.hpp"
#include "processes.hpp"
#include "source_names.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

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

Words& operator+=(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Words split(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

const Words to_any = split("--target=nvptx64--nvidiacl -Xclang -target-cpu -Xclang sm_75 -O2");
const Words from_opencl = split("-x cl -cl-std=CL1.2 -Xclang -finclude-default-header");
const Words unoptimised =
    split("-Xclang -disable-llvm-passes -emit-llvm"); // that is done when all parts are known

// Runs Clang; the output file's contents are the translation.
Translation run(const Tools& tools, const Words& words, const fs::path& output) {
  Words all{tools.clang};
  all += to_any;
  all += words;
  all += {"-o", output.string()};
  const Finished finished = run_program(all);
  return {finished.status == 0, finished.status == 0 ? read(output) : "", finished.output};
}

Translation refuse_without_tools() {
  const bool clang = find_clang().has_value(), libclc = find_libclc().has_value();
  const char* const which = clang ? "libclc was" : libclc ? "Clang was" : "neither was";
  return {false, "", fmt::format(fmt::runtime(missing), which)};
}

struct Part {
  Words language;
  std::string text;
  bool is_library = false; // what nothing calls is left out: Clang 18 fails to translate some of it
};

std::vector<Part> with_built_ins(const std::vector<std::string>& parts, bool with_launch_values) {
  std::vector<Part> all;
  for (const std::string& part : parts) all.push_back({{"-x", "ir"}, part});
  if (with_launch_values) all.push_back({from_opencl, launch_values_source(), true});
  if (std::any_of(parts.begin(), parts.end(), may_need_own_functions))
    all.push_back({from_opencl, own_functions_source(), true});
  return all;
}

} // namespace

bool compiler_is_available() {
  return find_tools().has_value();
}

Translation translate(const std::string& source, const Words& options, const std::vector<Header>& headers) {
  const auto tools = find_tools();
  if (!tools) return refuse_without_tools();
  const std::string name = new_name("program");
  for (const Header& header : headers) written(name + "/" + header.name, header.text);
  Words words = from_opencl;
  words += unoptimised;
  // Later versions of DWARF describe calls, where LLVM fails for PTX or puts labels into them.
  words += split("-S -cl-kernel-arg-info -gline-tables-only -gdwarf-2");
  words += options;
  words += {"-include", written(name + "/barrier.h", barrier_source).string()};
  words += {"-I", (temporary_folder() / name).string(), "-I", "."};
  words += {written(name + ".cl", with_name(source)).string()};
  return run(*tools, words, temporary_folder() / (name + ".ll"));
}

// Clang links bitcode alone, and only to a source: an empty one.
Translation link(const std::vector<std::string>& parts, const Words& options, bool with_launch_values) {
  const auto tools = find_tools();
  if (!tools) return refuse_without_tools();
  Words words;
  const auto add = [&](const std::string& bitcode, bool is_library) {
    words += {"-Xclang", is_library ? "-mlink-builtin-bitcode" : "-mlink-bitcode-file", "-Xclang", bitcode};
  };
  for (const Part& part : with_built_ins(parts, with_launch_values)) {
    const std::string name = new_name("part");
    Words to_bitcode = part.language;
    to_bitcode += unoptimised;
    to_bitcode += {"-c", written(name, part.text).string()};
    const fs::path output = temporary_folder() / (name + ".bc");
    if (Translation made = run(*tools, to_bitcode, output); !made.succeeded) return made;
    add(output.string(), part.is_library);
  }
  add(tools->libclc, true);
  const std::string name = new_name("linked");
  words += split("-x cl -cl-std=CL1.2 -S");
  words += options;
  words += {written(name + ".cl", "").string()};
  Translation made = run(*tools, words, temporary_folder() / (name + ".ptx"));
  if (!made.succeeded && made.log.find(tools->libclc) != made.log.npos)
    made.log += "libclc is newer than Clang: install clang-VERSION of libclc's version.\n";
  return made;
}

} // namespace warpfold::opencl
