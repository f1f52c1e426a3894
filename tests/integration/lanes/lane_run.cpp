#include "integration/lanes/lane_run.h"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <thread>

#include "support/compiler_headers.h"
#include "support/patience.h"

namespace esper::test {
namespace fs = std::filesystem;

LaneRunRoom::LaneRunRoom() : config(ESPER_SOURCE_DIR "/configs/run/reference.yaml") { fs::create_directories(cache()); }

CompilingRoom::CompilingRoom() { copy_kept_files(shared_worker_folder(), cache() / "programs/worker"); }
CompilingRoom::~CompilingRoom() { copy_kept_files(cache() / "programs/worker", shared_worker_folder()); }

Words LaneRunRoom::environment(const Words& more) const { return Words{"ESPER_CACHE=" + cache().string()} + more; }

std::string LaneRunRoom::compiler(const std::string& otherwise) const {
  const fs::path script = path / "bin" / "g++";
  fs::create_directories(script.parent_path());
  std::ofstream(script) << "#!/bin/sh\ncase \"$1\" in --version) echo g++ 12;; -dumpversion) echo 12;; *) " << otherwise
                        << ";; esac\n";
  fs::permissions(script, fs::perms::owner_all);
  return script;
}

Words LaneRunRoom::command(const std::string& run_name, const std::string& lane, const Words& assignments) const {
  return train_command(
      config, run(run_name),
      Words{"device.kind=cpu", "telemetry.console=none", "epochs=20", "step.lane=" + lane} + assignments);
}

Finished LaneRunRoom::train(const std::string& run_name, const std::string& lane, const Words& more,
                            const Words& assignments) const {
  return run_program(command(run_name, lane, assignments), environment(more), kLongPatience);
}

std::vector<pid_t> LaneRunRoom::workers() const {
  std::vector<pid_t> found;
  const std::string mark = "TORCHINDUCTOR_CACHE_DIR=" + cache().string();
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (contents_of(entry.path() / "environ").find(mark) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

bool comes_to(const std::function<bool()>& condition, std::chrono::milliseconds deadline) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

bool LaneRunRoom::workers_are_gone() const {
  return comes_to([&] { return workers().empty(); }, kPatience);
}

std::vector<fs::path> LaneRunRoom::entries() const {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(cache() / "programs/entries", ignored)) files.push_back(entry.path());
  return files;
}

std::vector<ReportedFailure> failures_of(const fs::path& run) {
  std::vector<ReportedFailure> found;
  for (const auto& packet : packets_of(run)) {
    for (const auto& event : packet["events"]) {
      const std::string name = event["description"];
      const bool of_lanes = name.starts_with("tolaria.compile") || name.starts_with("tolaria.lane");
      if (!of_lanes || event["level"] == "INFO") continue;
      CHECK(event["level"] == "WARNING");
      const auto& facts = event["attributes"];
      found.push_back({name, facts.value("error", ""), facts.value("reason", "")});
    }
  }
  return found;
}

}  // namespace esper::test
