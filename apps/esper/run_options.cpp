#include "esper/run_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/gpu_present.h"
#include "base/parse_number.h"
#include "base/text/printable.h"
#include "config/loading/training_check.h"
#include "nissa/log.h"

namespace esper {
namespace {

// A zero in front would make it an octal number where it is converted.
bool is_whole_number_in(std::string_view text, std::int64_t least, std::int64_t most) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.size() > 1 && digits.starts_with('0')) return false;
  const auto value = base::parse_number<std::int64_t>(text);
  return value && *value >= least && *value <= most;
}

config::LoadedConfig without_problems(config::LoadedConfig loaded) {
  if (!loaded.problems.empty()) throw base::ConfigError(std::move(loaded.problems));
  return loaded;
}

config::LoadedConfig trainable(config::LoadedConfig loaded) {
  config::check_for_training(loaded);
  return without_problems(std::move(loaded));
}

config::LoadedConfig computable_here(config::LoadedConfig loaded) {
  if (base::gpu_present()) return loaded;
  if (auto missing = config::missing_gpu(loaded)) throw base::MissingResource(*std::move(missing));
  return loaded;
}

config::RunConfig with_warnings_reported(config::LoadedConfig loaded) {
  report_warnings(loaded);
  return std::move(loaded.config);
}

}  // namespace

CLI::Validator whole_number(std::int64_t least, std::int64_t most, const std::string& shown) {
  const bool is_open = least >= 0 && most == std::numeric_limits<std::int64_t>::max();
  const std::string range = is_open ? fmt::format("{} on", least) : fmt::format("{} to {}", least, most);
  return CLI::Validator(
      [least, most, range](std::string& text) {
        if (is_whole_number_in(text, least, most)) return std::string();
        return "needs a whole number from " + range + ", not " + base::in_quotes(text);
      },
      shown);
}

std::string refuse_empty(const std::string& value) {
  return value.empty() ? "is empty; give a value, or omit the option" : "";
}

void refuse_other_than_file(const std::string& out, const std::string& otherwise) {
  std::error_code ignored;
  const auto found = std::filesystem::symlink_status(out, ignored);
  if (!std::filesystem::exists(found) || std::filesystem::is_regular_file(found)) return;
  const bool is_folder = std::filesystem::is_directory(out, ignored);
  throw base::Error(base::ExitCode::kConfig,
                    fmt::format("--out {} is {}; {}", base::in_quotes(out),
                                is_folder ? "a folder" : "not a regular file, and would be replaced", otherwise));
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
  return without_problems(config::read_run_config(options.file, options.assignments));
}

config::LoadedConfig load_for_queue(const ConfigOptions& options) {
  return trainable(config::read_run_config(options.file, options.assignments));
}

config::LoadedConfig trainable_here(config::LoadedConfig loaded) {
  if (!base::gpu_present()) config::check_without_gpu(loaded);
  return computable_here(trainable(std::move(loaded)));
}

config::LoadedConfig load_for_training(const ConfigOptions& options) {
  return trainable_here(config::read_run_config(options.file, options.assignments));
}

void report_warnings(const config::LoadedConfig& loaded) {
  for (const auto& warning : loaded.warnings) nissa::log::warning(to_string(warning));
}

config::RunConfig load_config_of_run(const std::string& run_dir, const std::vector<std::string>& assignments) {
  return with_warnings_reported(history::read_config_of_run(run_dir, assignments));
}

config::RunConfig load_run_for_computing(const std::string& run_dir, const std::vector<std::string>& assignments) {
  return with_warnings_reported(computable_here(history::read_config_of_run(run_dir, assignments)));
}

config::RunConfig load_run_for_training(const std::string& run_dir, const std::vector<std::string>& assignments) {
  return with_warnings_reported(trainable_here(history::read_config_of_run(run_dir, assignments)));
}

}  // namespace esper
