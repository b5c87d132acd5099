/* What `kit device` asks of NVIDIA's driver (libcuda.so.1) and of its library for managing GPUs (libnvidia-ml.so.1), for machines
 * that have neither. Signatures and structures are those of cuda.h and nvml.h. By environment:
 *
 *   STANDIN_GPUS    how many GPUs there are, 1 to 4 (1)
 *   STANDIN_WIRING  switch: 18 NVLinks from each to a switch; direct: 4 NVLinks between 0 and 1 and one between 2 and 3, the others
 *                   across sockets; pcie: no NVLink; 0 and 1 below one PCIe switch, 2 and 3 below one host bridge, the others across
 *                   sockets and without peer access */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char legacy_id[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char id[32];
} PciInfo;

static const unsigned buses[] = {0x18, 0x2a, 0x9a, 0xab};
static int gpus(void) {
  const char* text = getenv("STANDIN_GPUS");
  return text ? atoi(text) : 1;
}
static int wired(const char* how) {
  const char* text = getenv("STANDIN_WIRING");
  return text && strcmp(text, how) == 0;
}
static int same_socket(int a, int b) {
  return a / 2 == b / 2;
}

int cuInit(unsigned flags) {
  return flags ? 1 : 0;
}
int cuDeviceGetCount(int* count) {
  *count = gpus();
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  if (ordinal < 0 || ordinal >= gpus()) return 101;
  *device = ordinal;
  return 0;
}
int cuDeviceGetName(char* name, int size, int device) {
  snprintf(name, size, "Stand-in %d", device);
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  (void)device;
  *bytes = (size_t)8 << 30;
  return 0;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  *value = attribute == 20 ? 0 : 1;
  return 0;
}
int cuGetErrorString(int status, const char** text) {
  (void)status;
  *text = "an error of the stand-in";
  return 0;
}
int cuDeviceGetPCIBusId(char* id, int size, int device) {
  snprintf(id, size, "0000:%02x:00.0", buses[device]);
  return 0;
}
int cuDeviceCanAccessPeer(int* possible, int device, int peer) {
  *possible = !wired("pcie") || same_socket(device, peer);
  return 0;
}

/* A handle is the address of the GPU's bus. */
static int index_of(void* handle) {
  return (int)((const unsigned*)handle - buses);
}
int nvmlInit_v2(void) {
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** handle) {
  unsigned domain, bus, device;
  if (sscanf(id, "%x:%x:%x.0", &domain, &bus, &device) != 3) return 2;
  for (int k = 0; k < 4; ++k)
    if (buses[k] == bus) *handle = (void*)&buses[k];
  return 0;
}
int nvmlDeviceGetTopologyCommonAncestor(void* one, void* other, unsigned* level) {
  const int a = index_of(one), b = index_of(other);
  *level = !same_socket(a, b) ? 50 : a / 2 == 0 ? 10 : 30;
  return 0;
}
int nvmlDeviceGetNvLinkState(void* handle, unsigned link, unsigned* active) {
  if (wired("pcie")) return 3; /* not supported */
  const unsigned most = wired("switch") ? 18 : index_of(handle) < 2 ? 4 : 1;
  if (link >= 18) return 2; /* invalid argument */
  *active = link < most;
  return 0;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void* handle, unsigned link, unsigned* kind) {
  (void)handle, (void)link;
  *kind = wired("switch") ? 2 : 0;
  return 0;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* handle, unsigned link, PciInfo* info) {
  (void)link;
  memset(info, 0, sizeof *info);
  info->bus = wired("switch") ? 0x05 : buses[index_of(handle) ^ 1];
  return 0;
}
int nvmlDeviceGetP2PStatus(void* one, void* other, unsigned index, unsigned* status) {
  (void)one, (void)other;
  *status = index == 2 && wired("switch") ? 0 : 5;
  return 0;
}
