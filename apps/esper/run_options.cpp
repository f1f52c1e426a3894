#include "esper/run_options.h"

#include <filesystem>
#include <utility>

#include "esper/engine_api.h"

namespace esper {
namespace {

std::string why_no_run(const std::filesystem::path& path) {
  std::error_code ignored;
  if (path.empty()) return "the name is empty";
  if (!std::filesystem::exists(path, ignored)) return "there is nothing of that name";
  if (!std::filesystem::is_directory(path, ignored)) return "it is a file";
  if (std::filesystem::is_empty(path, ignored)) return "it is an empty folder";
  return std::string("there is no ") + kRunConfigFile + " in it";
}

}  // namespace

std::string refuse_empty(const std::string& value) {
  return value.empty() ? "is empty; name one, or leave it out" : "";
}

void add_set_option(CLI::App& command, std::vector<std::string>& assignments) {
  command
      .add_option("--set", assignments,
                  "Set fields of the run file: --set epochs=5 data.batch_size=32; may be repeated")
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
  throw leyline::Error(leyline::ExitCode::kConfig,
                       run_dir + " is no run folder: " + why_no_run(run_dir) +
                           "; esper train makes one in runs_dir (runs/NAME-DATE-TIME) and prints its name at the end");
}

}  // namespace esper
