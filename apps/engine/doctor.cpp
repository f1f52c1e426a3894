// `esper doctor`: what this machine offers, and what is missing.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "device/facts.h"
#include "device/select.h"
#include "engine/commands.h"
#include "engine/find_python.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper::engine {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kDiskTestBytes = 32u << 20;

ordered_json torch_section() {
  const auto facts = device::torch_facts();
  return {{"version", facts.version},
          {"blas", facts.blas},
          {"onednn", facts.onednn},
          {"cpu_capability", facts.cpu_capability},
          {"intra_op_threads", facts.intra_op_threads},
          {"inter_op_threads", facts.inter_op_threads}};
}

ordered_json cpu_section() {
  const auto facts = device::host_facts();
  return {{"model", facts.cpu_model},
          {"cores", facts.logical_cores},
          {"instruction_sets", facts.instruction_sets},
          {"memory_total_bytes", facts.memory_total_bytes},
          {"memory_available_bytes", facts.memory_available_bytes}};
}

ordered_json gpu_section() {
  ordered_json cards = ordered_json::array();
  for (const auto& card : device::gpu_facts()) {
    cards.push_back(
        {{"name", card.name},
         {"compute_capability", std::to_string(card.capability_major) + "." + std::to_string(card.capability_minor)},
         {"memory_total_bytes", card.memory_total_bytes},
         {"memory_free_bytes", card.memory_free_bytes}});
  }
  return cards;
}

// Writes and syncs a file in the current folder, then removes it.
ordered_json disk_section() {
  auto& files = storage::real_file_system();
  const std::string path = storage::free_name(files, "esper-doctor-disk-test");
  try {
    const std::vector<std::byte> block(kDiskTestBytes, std::byte{0x5a});
    const auto begin = std::chrono::steady_clock::now();
    {
      auto file = files.open(path, leyline::OpenMode::kReplace);
      file.write(block);
      file.sync();
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    const auto free_bytes = files.free_bytes(path);
    files.remove(path);
    return {{"write_and_sync_mb_per_s", static_cast<double>(kDiskTestBytes) / 1e6 / seconds.count()},
            {"free_bytes", free_bytes}};
  } catch (const leyline::IoError& error) {
    return {{"problem", error.what()}};
  }
}

ordered_json python_section() {
  const auto python = find_python();
  return {
      {"path", python.path}, {"version", python.version}, {"has_torch", python.has_torch}, {"problem", python.problem}};
}

void print_section(const std::string& name, const ordered_json& section) {
  print_line(name);
  for (const auto& [key, value] : section.items()) {
    if (value.is_object()) {
      for (const auto& [inner, text] : value.items()) print_line("  " + inner + ": " + text.dump());
    } else if (!(value.is_string() && value.get<std::string>().empty())) {
      print_line("  " + (section.is_array() ? std::string() : key + ": ") +
                 (value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
}

}  // namespace

int doctor(const EngineRequest& request) {
  const ordered_json report = {{"torch", torch_section()},
                               {"cpu", cpu_section()},
                               {"gpus", gpu_section()},
                               {"disk", disk_section()},
                               {"python", python_section()}};
  if (request.json) {
    print_line(report.dump(2));
    return 0;
  }
  for (const auto& [name, section] : report.items()) print_section(name, section);
  if (report["gpus"].empty()) print_line("  none: training runs on the CPU");
  return 0;
}

}  // namespace esper::engine
