#include "engine/bench/environment.h"

#include <sys/utsname.h>
#include <torch/types.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/machine_name.h"
#include "device/facts.h"

namespace esper::engine::bench {
namespace {

using nlohmann::ordered_json;

// The first line of a small file; "unknown" if the machine does not report it.
std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) && !line.empty() ? line : "unknown";
}

ordered_json gpus() {
  ordered_json list = ordered_json::array();
  for (const auto& card : device::gpu_facts()) {
    list.push_back({{"name", card.name}, {"driver", card.driver_version}, {"runtime", card.runtime_version}});
  }
  return list;
}

}  // namespace

ordered_json environment(const std::string& commit) {
  const auto host = device::host_facts();
  const auto torch = device::torch_facts();
  const ordered_json fingerprint = {{"cpu", host.cpu_model},
                                    {"cores", host.logical_cores},
                                    {"instruction_sets", host.instruction_sets},
                                    {"governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")},
                                    {"most_khz", first_line("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")},
                                    {"torch", torch.version},
                                    {"blas", torch.blas},
                                    {"onednn", torch.onednn},
                                    {"kernels_for", torch.cpu_capability},
                                    {"threads", torch.intra_op_threads},
                                    {"gpus", gpus()}};
  utsname system{};
  uname(&system);
  return {{"machine", base::machine_name(host.cpu_model, fingerprint.dump())},
          {"fingerprint", fingerprint},
          {"now",
           {{"time", base::rfc3339(base::Clock().wall())},
            {"load", first_line("/proc/loadavg")},
            {"kernel", std::string(system.sysname) + " " + system.release},
            {"commit", commit}}}};
}

}  // namespace esper::engine::bench
