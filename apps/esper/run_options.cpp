#include "esper/run_options.h"

#include <filesystem>
#include <utility>

#include "esper/engine_api.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper {

void add_set_option(CLI::App& command, std::vector<std::string>& assignments) {
  command.add_option("--set", assignments, "Set one field, like training.optimizer.lr=0.1; may be repeated")
      ->type_name("KEY=VALUE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

void add_json_flag(CLI::App& command, bool& json) { command.add_flag("--json", json, "Print JSON, errors too"); }

void add_config_options(CLI::App& command, ConfigOptions& options) {
  command.add_option("file", options.file, "Run file")->required()->type_name("FILE");
  add_set_option(command, options.assignments);
  add_json_flag(command, options.json);
}

leyline::LoadedConfig load_or_throw(const ConfigOptions& options) {
  leyline::LoadedConfig loaded = leyline::read_run_config(options.file, options.assignments);
  if (!loaded.problems.empty()) throw leyline::ConfigError(std::move(loaded.problems));
  return loaded;
}

std::string config_in_run(const std::string& run_dir) {
  const std::filesystem::path path = std::filesystem::path(run_dir) / kRunConfigFile;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) return path.string();
  const auto why = storage::why_missing(storage::real_file_system(), run_dir, kRunConfigFile);
  throw leyline::Error(leyline::ExitCode::kConfig,
                       run_dir + " is no run folder: " + (why.empty() ? "its config.yaml is no file" : why) +
                           "; esper train makes one in runs_dir (runs/NAME-DATE-TIME) and prints its name at the end");
}

}  // namespace esper
