// A launch that does not run: what the checks ask of a grid, a block and its warps, without a program.
#pragma once

#include "analysis/races.hpp"
#include "machine/block.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace warpfold::analysis {

inline constexpr const char* scene_ptx = R"(
.version 8.0
.target sm_75
.address_size 64
.shared .align 4 .b8 _ZZ4treePKfE7partial[512];
.visible .entry _Z4treePKf(.param .u64 input)
{
  .reg .b32 %r<2>;
  mov.u32 %r1, _ZZ4treePKfE7partial;
  st.shared.u32 [%r1], %r1;
  ret;
}
)";

// Two blocks of two warps, each block with 512 bytes of shared memory.
struct Scene {
  machine::AddressSpace memory{1 << 24};
  machine::Program program{ptx::parse(scene_ptx), memory};
  machine::LaunchShape shape{.grid = {2, 1, 1}, .block = {64, 1, 1}};
  const machine::Code& code = program.kernel("_Z4treePKf")->code();
  machine::Grid grid{.code = code,
                     .shape = shape,
                     .parameters = {},
                     .memory = memory,
                     .begin = {},
                     .deadline = {},
                     .mutex = {},
                     .fault = {}};
  machine::Worker worker{grid};
  machine::Block first{worker}, second{worker};
  machine::Operation operation; // a plain one; which one does not matter

  Scene() {
    first.start(0);
    second.start(1);
  }
};

// One request. Lane i accesses `first` + i * width; `mask` says which lanes take part.
struct Request {
  machine::AccessKind kind;
  unsigned warp = 0;
  std::uint32_t mask = 1;
  std::uint64_t first = 0;
  std::uint32_t width = 4;
  const void* values = nullptr; // what the lanes store, `width` bytes from lane to lane; null: not available
};

// The request as the machine would report it to a watcher.
class ToldAccess {
public:
  ToldAccess(Scene& scene, machine::Block& block, ptx::Space space, const Request& request) {
    machine::Warp& warp = block.warps[request.warp];
    warp.set_mask(request.mask);
    for (unsigned lane = 0; lane < machine::warp_lanes; ++lane)
      addresses_[lane] = request.first + std::uint64_t{lane} * request.width;
    access_ = std::make_unique<machine::Access>(
        machine::Access{.warp = warp,
                        .operation = scene.operation,
                        .space = space,
                        .kind = request.kind,
                        .order = machine::MemoryOrder::weak,
                        .scope = machine::MemoryScope::block,
                        .mask = request.mask,
                        .width = request.width,
                        .addresses = addresses_,
                        .first = request.first,
                        .contiguous = true,
                        .values = static_cast<const std::byte*>(request.values),
                        .value_stride = request.width});
  }
  const machine::Access& operator*() const { return *access_; }

private:
  std::uint64_t addresses_[machine::warp_lanes];
  std::unique_ptr<machine::Access> access_;
};

} // namespace warpfold::analysis
