#include "config/writing/write.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "base/hash.h"
#include "config/fields/field_table.h"
#include "config/loading/load.h"
#include "config/writing/free_fields.h"

namespace esper::test::write_test {

using namespace esper::base;
using namespace esper::config;

namespace {

// A config in which every field differs from its default.
struct Change {
  void operator()(const SectionField&) const {}
  void operator()(const EnumField& field) const {
    field.set(field.value, (field.get(field.value) + 1) % field.names.size());
  }
  void operator()(const EntriesField& field) const { field.set(field.value, {"no", "a b", ""}); }
  void operator()(bool* value) const { *value = !*value; }
  void operator()(std::string* value) const { *value += "yes: \"\\ \xC3\xA9 #x"; }
  void operator()(double* value) const { *value = 0.75 * *value + 0.11; }
  void operator()(Duration* value) const { *value += Duration(12345); }
  void operator()(Length* value) const { *value = Length{value->count + 41, Length::Unit::kSteps}; }
  void operator()(std::vector<std::string>* value) const { *value = {"no", "a b", ""}; }
  void operator()(std::vector<double>* value) const { *value = {0.5, 1, 1e-3}; }
  void operator()(std::vector<std::int64_t>* value) const { *value = {7, 8, 9}; }
  template <class T>
  void operator()(T* value) const {
    *value += 1;
  }
};

RunConfig changed() {
  RunConfig config;
  for (const FieldRow& row : field_table(config)) std::visit(Change{}, row.value);
  return config;
}

}  // namespace

TEST_CASE("a resolved config loads back to an equal one") {
  for (const RunConfig& config : {RunConfig{}, changed()}) {
    const std::string text = resolved_yaml(config);
    CAPTURE(text);
    const LoadedConfig loaded = read_run_config_text(text, "f");
    CHECK(resolved_json(loaded.config) == resolved_json(config));
    CHECK(resolved_yaml(loaded.config) == text);
  }
  CHECK(read_run_config_text(resolved_yaml(RunConfig{}), "f").problems.empty());
}

TEST_CASE("given fields alone are read back as such, so that defaults still follow others") {
  const std::string text = "name: \"a\"\nhost:\n  kind: cnn\n  blocks: 2\ntraining:\n  optimizer:\n    lr: 0.5\n";
  const LoadedConfig loaded = read_run_config_text(text, "f");
  REQUIRE(loaded.problems.empty());
  const std::string given =
      given_yaml(loaded.config, [&](std::string_view path) { return loaded.origins.contains(std::string(path)); });
  CHECK(given == text);
  CHECK(given_yaml(loaded.config, [](std::string_view) { return false; }).empty());
}

TEST_CASE("the resolved config has every field") {
  RunConfig config;
  const std::vector<FieldRow> rows = field_table(config);
  const LoadedConfig loaded = read_run_config_text(resolved_yaml(config), "f");
  for (const FieldRow& row : rows) CHECK(loaded.origins.contains(row.path));
  CHECK(rows.size() > 80);
  CHECK(resolved_json(config)["training"]["optimizer"]["lr"] == 0.01);
  CHECK(resolved_json(config)["checkpoint"]["every"] == "1 epoch");
}

// In the text for users; policies have words of their own there.
bool is_called_free(const FieldRow& row, const std::string& top) {
  const std::string text = " " + free_fields_text();
  const auto has = [&](const std::string& words) { return text.find(" " + words) != std::string::npos; };
  return has(row.path + ",") || has(row.path + ";") || has(row.path + " if ") || has(row.path + " and ") ||
         has(row.path + " unless ") || has(row.section() + ",") || has(top + ",");
}

TEST_CASE("the text of the free fields has the conditions of those that have one") {
  const std::string text = free_fields_text();
  CHECK(text.find(" and device.kind; ") != std::string::npos);
  CHECK(text.find("; data.path, data.validation_path and data.test_path if training and validation data stay the same; "
                  "host.path and host.weights if the network stays the same; ") != std::string::npos);
}

TEST_CASE("each field changes the hash, and only some leave the training hash alone") {
  const RunConfig defaults;
  RunConfig config;
  for (const FieldRow& row : field_table(config)) {
    if (row.is_section()) continue;
    CAPTURE(row.path);
    const std::string top = row.path.substr(0, row.path.find('.'));
    const std::set<std::string> free_sections{"name", "runs_dir", "epochs", "safety", "telemetry", "checkpoint"};
    const std::set<std::string> free_fields{
        "device.kind", "data.path", "data.validation_path", "data.test_path", "data.workers", "data.prefetch",
        "data.pin_memory", "data.persistent_workers", "data.gpu_prefetch", "data.gpu_dataset", "host.path",
        "host.weights",
        // The heuristic decides.
        "policy.periodic.every_epochs", "policy.random.probability", "policy.random.seed", "policy.schedule",
        "policy.recovery_evaluations", "policy.file", "policy.ensemble", "policy.command"};
    const std::set<std::string> free_policy_sections{"policy.gnn", "policy.breaker", "policy.risk", "policy.reports"};
    const bool how_a_step_runs = top == "step" && row.path != "step.accumulation";
    const bool free = free_sections.contains(top) || free_fields.contains(row.path) || how_a_step_runs ||
                      free_policy_sections.contains(std::string(row.section()));
    const RunConfig before = config;
    std::visit(Change{}, row.value);
    CHECK(config_hash(config) != config_hash(defaults));
    CHECK((training_hash(config) == training_hash(defaults)) == free);
    CHECK((is_called_free(row, top) == free || top == "policy"));
    const bool device = row.path == "device.kind";
    const bool place = row.path == "data.path" || row.path == "data.validation_path";
    const auto of_these = earlier_training_hashes(config), of_defaults = earlier_training_hashes(defaults);
    CHECK((of_these[0] == of_defaults[0]) == (free && !device));
    CHECK((of_these[1] == of_defaults[1]) == (free && !device && !place));
    config = before;
  }
  CHECK(config_hash(config) == config_hash(defaults));
}

TEST_CASE("epochs count for the training hash where the schedule ends with the run") {
  RunConfig config;
  config.training.schedule.kind = ScheduleKind::kCosine;
  RunConfig longer = config;
  ++longer.epochs;
  CHECK(training_hash(config) != training_hash(longer));
  config.training.schedule.total_steps = longer.training.schedule.total_steps = 100;
  CHECK(training_hash(config) == training_hash(longer));
}

TEST_CASE("epochs count for the training hash where the policy's schedule has a percentage of them") {
  RunConfig config;
  config.policy.kind = PolicyKind::kSchedule;
  config.policy.schedule = {"2:r0c0=mlp"};
  RunConfig longer = config;
  ++longer.epochs;
  CHECK(training_hash(config) == training_hash(longer));
  config.policy.schedule = longer.policy.schedule = {"2:r0c0=mlp", "30%:r0c0=norm"};
  CHECK(training_hash(config) != training_hash(longer));
  config.policy.kind = longer.policy.kind = PolicyKind::kPeriodic;
  CHECK(training_hash(config) == training_hash(longer));
}

TEST_CASE("the settings of the policy that decides count for the training hash, those of others do not") {
  RunConfig config;
  config.policy.kind = PolicyKind::kRandom;
  RunConfig other = config;
  other.policy.periodic.every_epochs = 9;
  other.policy.schedule = {"2:r0c0=mlp"};
  CHECK(training_hash(config) == training_hash(other));
  other.policy.random.probability = 0.9;
  CHECK(training_hash(config) != training_hash(other));
  config.policy.kind = other.policy.kind = PolicyKind::kGnn;
  CHECK(training_hash(config) == training_hash(other));
  other.policy.file = "elsewhere.safetensors";
  CHECK(training_hash(config) == training_hash(other));
  other.policy.risk.loss_spike = 0.2;
  CHECK(training_hash(config) != training_hash(other));
}

TEST_CASE("where a policy runs counts for the training hash where the service then holds its commands back") {
  RunConfig config;
  RunConfig hosted = config;
  hosted.policy.host = PolicyHost::kProcess;
  CHECK(training_hash(config) != training_hash(hosted));  // the heuristic is asked without the service
  config.policy.kind = hosted.policy.kind = PolicyKind::kGnn;
  CHECK(training_hash(config) == training_hash(hosted));
  config.policy.kind = hosted.policy.kind = PolicyKind::kProcess;
  CHECK(training_hash(config) == training_hash(hosted));
  hosted.policy.risk.loss_spike = 0.2;
  CHECK(training_hash(config) != training_hash(hosted));
  hosted = config;
  hosted.policy.command = {"python3", "other.py"};
  CHECK(training_hash(config) != training_hash(hosted));
}

TEST_CASE("an ensemble trains as its first policy, whoever is asked beside it") {
  RunConfig config;
  config.policy.kind = PolicyKind::kRandom;
  RunConfig ensemble = config;
  ensemble.policy.kind = PolicyKind::kEnsemble;
  ensemble.policy.ensemble = {"random", "gnn"};
  CHECK(ensemble.policy.deciding() == PolicyKind::kRandom);
  CHECK(ensemble.policy.asks(PolicyKind::kGnn));
  CHECK_FALSE(ensemble.policy.asks(PolicyKind::kHeuristic));
  CHECK(training_hash(config) == training_hash(ensemble));
  ensemble.policy.random.probability = 0.9;
  CHECK(training_hash(config) != training_hash(ensemble));
  ensemble.policy.random = config.policy.random;
  ensemble.policy.ensemble = {"gnn", "random"};
  CHECK(training_hash(config) != training_hash(ensemble));
}

TEST_CASE("hashes are written with 16 digits and stay the same") {
  CHECK(hash_text(0x1f) == "000000000000001f");
  CHECK(hash_text(config_hash(RunConfig{})) == hash_text(config_hash(RunConfig{})));
}

}  // namespace esper::test::write_test
