// The L2 cache: its sizes, how much of it may be set aside, and windows of addresses whose lines persist
// there. An H200 prints the same.
#include "show.hpp"

#include <cstddef>

namespace {

__global__ void nothing() {}

void set_aside(std::size_t bytes) {
  std::size_t now = 0;
  SHOW_VALUE(bytes);
  SHOW(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, bytes));
  SHOW(cudaDeviceGetLimit(&now, cudaLimitPersistingL2CacheSize));
  SHOW_VALUE(now);
}

void windows(int largest) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  cudaKernelNodeParams parameters{};
  parameters.func = reinterpret_cast<void*>(nothing);
  parameters.gridDim = dim3(1), parameters.blockDim = dim3(1);
  SHOW(cudaStreamCreate(&stream));
  SHOW(cudaGraphCreate(&graph, 0));
  SHOW(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
  struct Case {
    const char* name;
    std::size_t bytes;
    float ratio;
    cudaAccessProperty hit, miss;
  };
  const auto persists = cudaAccessPropertyPersisting;
  const auto streams = cudaAccessPropertyStreaming;
  const auto normal = cudaAccessPropertyNormal;
  const Case cases[] = {
      {"as the guide does", 1 << 20, 0.6f, persists, streams},
      {"none", 0, 0, normal, streams},
      {"the largest", static_cast<std::size_t>(largest), 1, persists, normal},
      {"too large", static_cast<std::size_t>(largest) + 1, 1, persists, normal},
      {"a ratio above 1", 1 << 20, 1.5f, persists, normal},
      {"a ratio below 0", 1 << 20, -0.5f, persists, normal},
      {"misses that persist", 1 << 20, 1, persists, persists},
  };
  for (const Case& each : cases) {
    std::printf("%s\n", each.name);
    cudaLaunchAttributeValue value{};
    value.accessPolicyWindow.num_bytes = each.bytes;
    value.accessPolicyWindow.hitRatio = each.ratio;
    value.accessPolicyWindow.hitProp = each.hit;
    value.accessPolicyWindow.missProp = each.miss;
    SHOW(cudaStreamSetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &value));
    SHOW(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeAccessPolicyWindow, &value));
    value = {};
    SHOW(cudaStreamGetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &value));
    SHOW_VALUE(value.accessPolicyWindow.num_bytes);
  }
  nothing<<<1, 1, 0, stream>>>();
  SHOW(cudaStreamSynchronize(stream));
}

} // namespace

int main() {
  cudaDeviceProp properties{};
  std::size_t bytes = 0;
  SHOW(cudaGetDeviceProperties(&properties, 0));
  SHOW_VALUE(properties.l2CacheSize);
  SHOW_VALUE(properties.persistingL2CacheMaxSize);
  SHOW_VALUE(properties.accessPolicyMaxWindowSize);
  SHOW(cudaDeviceGetLimit(&bytes, cudaLimitPersistingL2CacheSize));
  SHOW_VALUE(bytes);
  for (const std::size_t each :
       {0, 1, 1000, 4'000'000, properties.persistingL2CacheMaxSize, properties.persistingL2CacheMaxSize + 1})
    set_aside(each);
  windows(properties.accessPolicyMaxWindowSize);
  SHOW(cudaCtxResetPersistingL2Cache());
}
