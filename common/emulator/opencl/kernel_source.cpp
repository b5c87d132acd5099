#include "kernel_source.hpp"

#include <map>
#include <sstream>
#include <string_view>

namespace warpfold::opencl {
namespace {

// The elements of a list `!{i32 1, !"float*"}`, without their types and quotes.
std::vector<std::string> elements(std::string_view list) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < list.size();) {
    std::size_t end = 0;
    if (list.substr(at).starts_with("!\"")) {
      end = list.find('"', at + 2);
      found.emplace_back(list.substr(at + 2, end - at - 2));
    } else {
      end = list.find(',', at);
      const std::string_view element = list.substr(at, end == list.npos ? end : end - at);
      found.emplace_back(element.substr(element.rfind(' ') + 1));
    }
    const std::size_t comma = end == list.npos ? end : list.find(", ", end);
    at = comma == list.npos ? list.size() : comma + 2;
  }
  return found;
}

// The module's lists by number: `!12 = !{...}`.
std::map<std::string, std::vector<std::string>, std::less<>> lists_in(const std::string& llvm) {
  std::map<std::string, std::vector<std::string>, std::less<>> lists;
  std::istringstream lines(llvm);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find(" = !{");
    if (!line.starts_with('!') || equals == line.npos || !line.ends_with('}')) continue;
    lists[line.substr(0, equals)] =
        elements(std::string_view(line).substr(equals + 5, line.size() - equals - 6));
  }
  return lists;
}

} // namespace

std::vector<KernelSource> kernels_in(const std::string& llvm) {
  const auto lists = lists_in(llvm);
  std::vector<KernelSource> kernels;
  std::istringstream lines(llvm);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("define ") || line.find(" !kernel_arg_addr_space ") == line.npos) continue;
    const auto list_named = [&](const std::string& name) -> std::vector<std::string> {
      const std::string key = " !" + name + " ";
      const std::size_t at = line.find(key);
      if (at == line.npos) return {};
      const std::size_t begin = at + key.size();
      const auto found = lists.find(line.substr(begin, line.find(' ', begin) - begin));
      return found == lists.end() ? std::vector<std::string>{} : found->second;
    };
    const std::size_t begin = line.find('@') + 1;
    KernelSource& kernel = kernels.emplace_back();
    kernel.name = line.substr(begin, line.find('(', begin) - begin);
    const auto spaces = list_named("kernel_arg_addr_space"), types = list_named("kernel_arg_type"),
               access = list_named("kernel_arg_access_qual"), qualifiers = list_named("kernel_arg_type_qual"),
               names = list_named("kernel_arg_name"), group = list_named("reqd_work_group_size");
    for (std::size_t i = 0; i < spaces.size(); ++i) {
      const auto text = [i](const std::vector<std::string>& all) { return i < all.size() ? all[i] : ""; };
      kernel.arguments.push_back({static_cast<unsigned>(std::stoul(spaces[i])), text(names), text(types),
                                  text(access), text(qualifiers)});
    }
    for (std::size_t i = 0; i < 3 && i < group.size(); ++i) kernel.required_group[i] = std::stoul(group[i]);
  }
  return kernels;
}

} // namespace warpfold::opencl
