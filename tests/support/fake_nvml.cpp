// Two GPUs, as NVIDIA's management library would tell of them; the first lies at PCI address 0000:3b:00.0. Of the
// environment: FAKE_NVML_FREE_MIB sets the free memory of the second one, FAKE_NVML_BUSY_PERCENT (37) how busy both
// are; FAKE_NVML_LOST makes every question about a GPU fail.
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned computing, copying;
};
int handles[2];

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int code) { return code == 15 ? "GPU is lost" : "Unknown Error"; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index > 1 || std::getenv("FAKE_NVML_LOST") != nullptr) return 15;
  *device = &handles[index];
  return 0;
}
int nvmlDeviceGetName(void*, char* name, unsigned length) {
  std::snprintf(name, length, "Fake GPU");
  return 0;
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length) {
  std::snprintf(uuid, length, "GPU-000%d-fake", static_cast<int>(static_cast<int*>(device) - handles));
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  const char* free_mib = std::getenv("FAKE_NVML_FREE_MIB");
  memory->total = 8ULL << 30;
  memory->free = device == &handles[1] && free_mib != nullptr ? std::strtoull(free_mib, nullptr, 10) << 20 : 7ULL << 30;
  memory->used = memory->total - memory->free;
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  if (std::strcmp(address, "0000:3b:00.0") != 0) return 6;
  *device = &handles[0];
  return 0;
}
int nvmlDeviceGetUtilizationRates(void*, Utilization* utilization) {
  const char* percent = std::getenv("FAKE_NVML_BUSY_PERCENT");
  *utilization = {percent != nullptr ? static_cast<unsigned>(std::atoi(percent)) : 37, 5};
  return 0;
}

}  // extern "C"
