#include "fatbin/loaded_segment.hpp"

#include <cstdint>
#include <limits>
#include <link.h>

namespace warpfold::fatbin {
namespace {

struct Search {
  std::uintptr_t address;
  std::size_t readable;
};

int visit(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  for (int index = 0; index < object->dlpi_phnum; ++index) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[index];
    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || search.address < begin || search.address - begin >= segment.p_memsz)
      continue;
    search.readable = segment.p_memsz - (search.address - begin);
    return 1;
  }
  return 0;
}

} // namespace

std::size_t readable_bytes(const void* address) {
  Search search{reinterpret_cast<std::uintptr_t>(address), std::numeric_limits<std::size_t>::max()};
  dl_iterate_phdr(visit, &search);
  return search.readable;
}

} // namespace warpfold::fatbin
