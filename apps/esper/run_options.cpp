#include "esper/run_options.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "config/yaml/yaml_document.h"
#include "esper/engine_api.h"
#include "history/require_run_folder.h"
#include "nissa/log.h"
#include "storage/bytes.h"
#include "storage/confined_file_system.h"
#include "storage/file_tools.h"

namespace esper {

std::string refuse_empty(const std::string& value) {
  return value.empty() ? "is empty; give a name, or omit the option" : "";
}

void add_set_option(CLI::App& command, std::vector<std::string>& assignments) {
  command
      .add_option("--set", assignments,
                  "Set fields of the run file: --set epochs=5 data.batch_size=32; may be repeated")
      ->type_name("KEY=VALUE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

void add_cache_dir_option(CLI::App& command, std::string& cache_dir) {
  command
      .add_option("--cache-dir", cache_dir,
                  "Folder of compiled programs (native code that this command loads); default: $ESPER_CACHE/programs, "
                  "else the user's cache")
      ->type_name("DIR");
}

void add_json_flag(CLI::App& command, bool& json) { command.add_flag("--json", json, "Print JSON, including errors"); }

bool sets(const std::vector<std::string>& assignments, const std::string& field) {
  return std::ranges::any_of(assignments, [&](const auto& one) { return one.starts_with(field + "="); });
}

void add_trust_flag(CLI::App& command, bool& trust_program) {
  command.add_flag("--trust-program", trust_program,
                   "Trust the programs that the run folder names in policy.command and data.command, from now on");
}

void add_config_options(CLI::App& command, ConfigOptions& options) {
  command.add_option("file", options.file, "Run file")->required()->type_name("FILE");
  add_set_option(command, options.assignments);
  add_json_flag(command, options.json);
}

config::LoadedConfig load_or_throw(const ConfigOptions& options) {
  config::LoadedConfig loaded = config::read_run_config(options.file, options.assignments);
  if (!loaded.problems.empty()) throw base::ConfigError(std::move(loaded.problems));
  return loaded;
}

std::string config_in_run(const std::string& run_dir) {
  const std::filesystem::path path = std::filesystem::path(run_dir) / kRunConfigFile;
  storage::ConfinedFileSystem files(run_dir, storage::Owner::kAnyone);
  history::require_run_folder(files, run_dir);
  return path.string();
}

config::LoadedConfig read_config_of_run(const std::string& run_dir, const std::vector<std::string>& given) {
  const std::string path = config_in_run(run_dir);
  auto assignments = given;
  // An imported network's programs: the run has its own.
  const std::string host = run_dir + "/" + kRunHostFolder;
  std::error_code ignored;
  const bool has_host = std::filesystem::is_directory(host, ignored);
  if (has_host) assignments.push_back("host.path=" + host);
  storage::ConfinedFileSystem files(run_dir, storage::Owner::kAnyone);
  const auto bytes = storage::read_file(files, path, config::YamlLimits::kBytes + 1);
  config::LoadedConfig loaded =
      config::read_run_config_text(storage::text_of(bytes), path, assignments, config::DocumentKind::kOfRun);
  // What host.path named when the run began may be another network by now.
  if (loaded.config.host.kind == config::HostKind::kExported && !has_host) {
    throw base::Error(base::ExitCode::kCheckpoint, run_dir + " has no folder " + kRunHostFolder +
                                                       " with the imported network that it trains; copy the whole "
                                                       "run folder");
  }
  if (!loaded.problems.empty()) throw base::ConfigError(std::move(loaded.problems));
  return loaded;
}

config::RunConfig load_config_of_run(const std::string& run_dir, const std::vector<std::string>& assignments) {
  config::LoadedConfig loaded = read_config_of_run(run_dir, assignments);
  for (const auto& warning : loaded.warnings) nissa::log::warning(to_string(warning));
  return std::move(loaded.config);
}

}  // namespace esper
