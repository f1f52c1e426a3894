#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/gpu_present.h"
#include "base/hash.h"
#include "config/facts/data_facts.h"
#include "config/loading/training_check.h"
#include "config/writing/write.h"
#include "esper/front.h"
#include "esper/run_options.h"

namespace esper {
namespace {

base::Place place_of(const std::string& field, const config::LoadedConfig& loaded) {
  const auto origin = loaded.origins.find(field);
  return origin == loaded.origins.end() ? base::Place{} : origin->second;
}

// A data path that is not there, where the run file gives it.
void check_path(const std::string& field, const std::string& path, const config::LoadedConfig& loaded,
                std::vector<base::Problem>& problems) {
  if (path.empty() || access(path.c_str(), R_OK) == 0) return;
  const int error = errno;
  const bool relative = path.front() != '/';
  problems.push_back({place_of(field, loaded), field,
                      path +
                          (error == ENOENT ? " does not exist" : std::string(" cannot be read: ") + strerror(error)) +
                          (relative ? "; it is relative to the current folder" : "")});
}

std::vector<base::Problem> missing_data(const config::LoadedConfig& loaded) {
  std::vector<base::Problem> problems;
  const config::DataConfig& data = loaded.config.data;
  check_path("data.path", data.path, loaded, problems);
  check_path("data.validation_path", data.validation_path, loaded, problems);
  check_path("data.test_path", data.test_path, loaded, problems);
  return problems;
}

// data.validation_path or data.test_path, and how else the run gets such a part.
struct MeasuredPart {
  const char* field;
  const std::string& path;
  const char *fraction, *purpose;
};

// Whether the part is also that of another path: a link or another spelling counts as what it leads to.
void check_other_place(const MeasuredPart& part, const std::string& other, const char* purpose,
                       config::LoadedConfig& loaded) {
  std::error_code not_there;
  if (part.path.empty() || !std::filesystem::equivalent(part.path, other, not_there)) return;
  loaded.problems.push_back(
      {place_of(part.field, loaded), part.field,
       fmt::format("{} is also the {} data; name other data, or remove it and train with data.{} to split a part off "
                   "for {}",
                   part.path, purpose, part.fraction, part.purpose)});
}

// Data that would train and measure. In folders that may hold several parts only training determines which of them a
// path means; equal texts of test_path are a mistake of the run file already.
void check_other_places(config::LoadedConfig& loaded) {
  using config::DataKind;
  const config::DataConfig& data = loaded.config.data;
  const MeasuredPart validation{"data.validation_path", data.validation_path, "validation_fraction", "validation"};
  const MeasuredPart test{"data.test_path", data.test_path, "test_fraction", "testing"};
  const bool has_own_folders = data.kind == DataKind::kImages || data.kind == DataKind::kDatasets;
  if (!has_own_folders) check_other_place(validation, data.path, "training", loaded);
  check_other_place(validation, data.labels, "training", loaded);
  check_other_place(test, data.labels, "training", loaded);
  if (!config::is_one_part(data.kind)) return;
  if (data.test_path != data.path) check_other_place(test, data.path, "training", loaded);
  if (data.test_path != data.validation_path) check_other_place(test, data.validation_path, "validation", loaded);
}

// What is no mistake: settings that are doubtful or without effect, and what the run file needs and this machine lacks.
std::vector<base::Problem> notes_on(const config::LoadedConfig& loaded) {
  std::vector<base::Problem> notes = loaded.warnings;
  if (base::gpu_present()) return notes;
  if (auto missing = config::missing_gpu(loaded)) {
    notes.push_back(*std::move(missing));
  } else if (loaded.config.step.lane == config::Lane::kGraph) {
    notes.push_back({place_of("step.lane", loaded), "step.lane", std::string("graph needs a GPU: ") + base::kNoGpu});
  }
  return notes;
}

// Throws ConfigError (exit 2) where the run file is wrong; data that are missing are then reported with it. Returns 3
// where they are all that is wrong.
int check(const ConfigOptions& options) {
  config::LoadedConfig loaded = config::read_run_config(options.file, options.assignments);
  config::check_for_training(loaded);
  check_other_places(loaded);
  std::vector<base::Problem> missing = missing_data(loaded);
  if (!loaded.problems.empty()) {
    std::move(missing.begin(), missing.end(), std::back_inserter(loaded.problems));
    throw base::ConfigError(std::move(loaded.problems));
  }
  if (!missing.empty()) {
    std::string text = "the run file is valid, but its data are missing";
    for (const base::Problem& problem : missing) text += "\n  " + to_string(problem);
    return report_error(base::ExitCode::kData, text, missing, options.format());
  }
  const config::RunConfig& config = loaded.config;
  const std::string hash = base::hash_text(config::config_hash(config));
  const std::vector<base::Problem> notes = notes_on(loaded);
  if (options.json) {
    print_json(nlohmann::ordered_json{{"ok", true},
                                      {"file", options.file},
                                      {"config_hash", hash},
                                      {"training_hash", base::hash_text(config::training_hash(config))},
                                      {"notes", problems_json(notes)}});
  } else {
    print_ok(options.file + " (config " + hash + ")");
    for (const base::Problem& note : notes) print_line("note: " + to_string(note));
  }
  return 0;
}

}  // namespace

void add_config_check(CLI::App& config, Front& front) {
  CLI::App* command =
      add_command(config, "check", "Print OK, or all problems (exit code 2; 3 if only the data are missing)",
                  "esper config check configs/run/digits.yaml --set epochs=5");
  const auto options = std::make_shared<ConfigOptions>();
  add_config_options(*command, *options);
  command->callback([&front, options] { front.run = [options] { return check(*options); }; });
}

}  // namespace esper
