#pragma once
// What a run left behind, read back to be compared.

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace esper::test {

std::string contents_of(const std::filesystem::path& file);
nlohmann::json read_json(const std::filesystem::path& file);

// Names of the published checkpoints, oldest first; none where there is no such folder.
std::vector<std::string> checkpoints_of(const std::filesystem::path& run);
// run.json of a checkpoint.
nlohmann::json state_of(const std::filesystem::path& run, const std::string& checkpoint);
// The stages of its slots, as in "TRAINING FOSSILIZED".
std::string stages_of(const nlohmann::json& state);

// Copies a run as it was right after `checkpoint` had been published.
void copy_run_until(const std::filesystem::path& from, const std::string& checkpoint, const std::filesystem::path& to);

// The packets of telemetry.jsonl. A process that is killed while it writes a line leaves a part of it: fails the test
// if more lines are no JSON than processes of the run may have been killed.
std::vector<nlohmann::json> packets_of(const std::filesystem::path& run);
// All events of that name.
std::vector<nlohmann::json> events_of(const std::filesystem::path& run, const std::string& name);
// The values of a metric, by epoch.
std::vector<double> values_of(const std::filesystem::path& run, const std::string& name);
// How many steps compiled programs ran in the process of the run that ran the most.
std::size_t compiled_steps(const std::filesystem::path& run);

// Everything that training made, nothing that depends on the clock.
struct RunRecord {
  std::string last_checkpoint;           // its name
  std::string tensors;                   // the bytes of its state.safetensors
  nlohmann::json state;                  // progress without wall time, topology, controller
  nlohmann::json summary;                // epochs, steps, train, validation, best, seeds
  std::map<int, std::string> epochs;     // by epoch: loss, accuracy and gradient norm, all digits
  std::map<int, std::string> decisions;  // by epoch
};
// Fails the test where a run tells two different stories of one epoch, as it might after it was resumed.
RunRecord record_of(const std::filesystem::path& run);

// Checks that they are equal, to the last bit. A killed process may lose the packet of an epoch that it saved.
enum class Telemetry { kWhole, kMayLack };
void check_equal(const RunRecord& got, const RunRecord& expected, Telemetry telemetry = Telemetry::kWhole);

}  // namespace esper::test
