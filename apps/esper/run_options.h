#pragma once
// Options that several commands share.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "config/loading/load.h"
#include "esper/engine_api.h"
#include "esper/output.h"
#include "history/run_config.h"

namespace esper {

// A run file with assignments on top.
struct ConfigOptions {
  std::string file;
  std::vector<std::string> assignments;
  bool json = false;

  Format format() const { return json ? Format::kJson : Format::kText; }
};

// For CLI::Option::check(): an option whose empty value would be taken for an option that was left out.
std::string refuse_empty(const std::string& value);
// For CLI::Option::check(): a whole number in decimal digits. `shown`: what the help says of it.
CLI::Validator whole_number(std::int64_t least, std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                            const std::string& shown = "");
// --out FILE of a command that puts its result in the file's place: throws Error{kConfig} where a folder, a link, a
// device or a pipe is there. `otherwise` is what to do instead.
void refuse_other_than_file(const std::string& out, const std::string& otherwise);
void add_set_option(CLI::App& command, std::vector<std::string>& assignments);
// Of the commands that compile.
void add_cache_dir_option(CLI::App& command, std::string& cache_dir);
void add_json_flag(CLI::App& command, bool& json);
// Whether one of them sets the field.
bool sets(const std::vector<std::string>& assignments, const std::string& field);
// Of the commands that start the program which a run folder names as its policy.
void add_trust_flag(CLI::App& command, bool& trust_program);
// FILE [--set k=v]... [--json]
void add_config_options(CLI::App& command, ConfigOptions& options);

// Throws ConfigError with all problems.
config::LoadedConfig load_or_throw(const ConfigOptions& options);
// The same for a run file that the daemon is to train (config/loading/training_check.h); it knows what GPUs jobs get.
config::LoadedConfig load_for_queue(const ConfigOptions& options);
// What is to be trained on this machine. Throws ConfigError with all problems, and MissingResource for a GPU that the
// machine lacks.
config::LoadedConfig trainable_here(config::LoadedConfig loaded);
// Of a run file. Throws likewise.
config::LoadedConfig load_for_training(const ConfigOptions& options);
// Says on stderr what was ignored, and what has no effect.
void report_warnings(const config::LoadedConfig& loaded);
// The configuration of a run folder (history/run_config.h); reports its warnings.
config::RunConfig load_config_of_run(const std::string& run_dir, const std::vector<std::string>& assignments = {});
// The same for a network that is computed on the run's device. Throws MissingResource for a GPU that this machine
// lacks.
config::RunConfig load_run_for_computing(const std::string& run_dir, const std::vector<std::string>& assignments);
// The same for a run that is to be trained on, on this machine. Throws as trainable_here().
config::RunConfig load_run_for_training(const std::string& run_dir, const std::vector<std::string>& assignments);

}  // namespace esper
