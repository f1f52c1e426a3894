// `esper doctor`: what this machine offers, and what is missing.

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text/joined.h"
#include "base/text/standard_output.h"
#include "device/facts.h"
#include "device/select.h"
#include "engine/commands.h"
#include "engine/python/find_python.h"
#include "storage/confined_file_system.h"
#include "storage/file_tools.h"

namespace esper::engine {
namespace {

using base::write_line;
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
    cards.push_back({{"name", card.name},
                     {"compute_capability", fmt::format("{}.{}", card.capability_major, card.capability_minor)},
                     {"memory_total_bytes", card.memory_total_bytes},
                     {"memory_free_bytes", card.memory_free_bytes}});
  }
  return cards;
}

// Writes and syncs a file in the current folder, then removes it.
ordered_json disk_section() {
  storage::ConfinedFileSystem files(".", storage::Owner::kAnyone);
  const std::string path = storage::free_name(files, "./esper-doctor-disk-test");
  try {
    const std::vector<std::byte> block(kDiskTestBytes, std::byte{0x5a});
    const auto begin = std::chrono::steady_clock::now();
    {
      auto file = files.open(path, base::OpenMode::kReplace);
      file.write(block);
      file.sync();
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    const auto free_bytes = files.free_bytes(path);
    files.remove(path);
    return {{"write_and_sync_mb_per_s", static_cast<double>(kDiskTestBytes) / 1e6 / seconds.count()},
            {"free_bytes", free_bytes}};
  } catch (const base::IoError& error) {
    storage::remove_all(files, path);
    return {{"problem", error.what()}};
  }
}

ordered_json python_section() {
  const auto python = find_python();
  return {
      {"path", python.path}, {"version", python.version}, {"has_torch", python.has_torch}, {"problem", python.problem}};
}

void print_fact(const char* name, const std::string& value) { write_line(fmt::format("  {:<18}{}", name, value)); }

std::string gib(const ordered_json& bytes) { return fmt::format("{:.1f} GiB", bytes.get<double>() / 0x1p30); }

void print_machine(const ordered_json& torch, const ordered_json& cpu, const ordered_json& gpus) {
  write_line("libtorch");
  print_fact("version", torch["version"]);
  print_fact("BLAS", torch["blas"]);
  print_fact("oneDNN", torch["onednn"]);
  print_fact("kernels for", torch["cpu_capability"]);
  print_fact("threads", fmt::format("{} inside an operator, {} between operators", torch["intra_op_threads"].dump(),
                                    torch["inter_op_threads"].dump()));
  write_line("CPU");
  print_fact("model", cpu["model"]);
  print_fact("cores", cpu["cores"].dump());
  print_fact("instruction sets", base::joined(cpu["instruction_sets"].get<std::vector<std::string>>(), " "));
  print_fact("memory", gib(cpu["memory_total_bytes"]) + ", " + gib(cpu["memory_available_bytes"]) + " available");
  write_line("GPU");
  if (gpus.empty()) write_line("  none usable: training runs on the CPU");
  for (const auto& card : gpus) {
    print_fact("model", card["name"]);
    print_fact("capability", card["compute_capability"]);
    print_fact("memory", gib(card["memory_total_bytes"]) + ", " + gib(card["memory_free_bytes"]) + " free");
  }
}

void print_surroundings(const ordered_json& disk, const ordered_json& python) {
  write_line("disk of this folder");
  if (disk.contains("problem")) {
    print_fact("problem", disk["problem"]);
  } else {
    print_fact("speed", fmt::format("{:.0f} MB/s written and synced", disk["write_and_sync_mb_per_s"].get<double>()));
    print_fact("free", gib(disk["free_bytes"]));
  }
  write_line("Python");
  if (const std::string problem = python["problem"]; !problem.empty()) print_fact("problem", problem);
  if (const std::string path = python["path"]; !path.empty()) print_fact("path", path);
  if (const std::string version = python["version"]; !version.empty()) {
    print_fact("version", version + (python["has_torch"].get<bool>() ? ", with torch" : ", without torch"));
  }
}

}  // namespace

int run(const DoctorRequest& request) {
  const ordered_json report = {{"torch", torch_section()},
                               {"cpu", cpu_section()},
                               {"gpus", gpu_section()},
                               {"disk", disk_section()},
                               {"python", python_section()}};
  if (request.json) {
    base::write_json(report);
    return 0;
  }
  print_machine(report["torch"], report["cpu"], report["gpus"]);
  print_surroundings(report["disk"], report["python"]);
  return 0;
}

}  // namespace esper::engine
