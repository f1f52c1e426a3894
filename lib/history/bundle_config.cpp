#include "history/bundle_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/text/problem.h"
#include "history/run_config.h"
#include "storage/confined_file_system.h"

namespace esper::history {
namespace {

using base::PathKind;

void require_bundle(base::FileSystem& files, const std::string& bundle) {
  const bool is_folder = files.kind_of(bundle) == PathKind::kFolder;
  for (const char* const file : {kBundleStepFile, kRunConfigFile}) {
    if (is_folder && files.kind_of(bundle + "/" + file) == PathKind::kFile) continue;
    throw base::Error(base::ExitCode::kConfig,
                      fmt::format("{} is not a bundle: there is no {} in it; a run writes bundles into its folder {} "
                                  "(RUN/{}/{}) when a step goes wrong",
                                  bundle, file, kBundlesFolder, kBundlesFolder, bundle_name(37)));
  }
}

}  // namespace

std::string bundle_name(std::int64_t step) { return fmt::format("step-{:09}", step); }

std::optional<std::int64_t> bundle_step(std::string_view name) {
  constexpr std::string_view kPrefix = "step-";
  if (!name.starts_with(kPrefix)) return {};
  std::int64_t step = -1;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), step);
  if (step < 0 || bundle_name(step) != name) return {};
  return step;
}

std::string newest_bundle(base::FileSystem& files, const std::string& run_folder) {
  const std::string folder = run_folder + "/" + kBundlesFolder;
  if (files.kind_of(folder) != PathKind::kFolder) return {};
  std::optional<std::int64_t> newest;
  for (const auto& [name, kind] : files.list(folder)) {
    const bool is_bundle =
        kind == PathKind::kFolder && files.kind_of(folder + "/" + name + "/" + kBundleStepFile) == PathKind::kFile;
    if (is_bundle) newest = std::max(newest, bundle_step(name));
  }
  return newest ? folder + "/" + bundle_name(*newest) : "";
}

config::LoadedConfig read_config_of_bundle(const std::string& bundle) {
  storage::ConfinedFileSystem files(bundle, storage::Owner::kAnyone);
  require_bundle(files, bundle);
  const auto folder = std::filesystem::absolute(bundle).lexically_normal();
  const auto run = (folder.has_filename() ? folder : folder.parent_path()).parent_path().parent_path();
  try {
    return read_kept_config(bundle, (run / kRunHostFolder).string());
  } catch (const base::ConfigError& error) {
    throw base::Error(
        base::ExitCode::kCheckpoint,
        fmt::format("{} cannot be used: its {} is not as the run wrote it: {}", bundle, kRunConfigFile, error.what()));
  }
}

}  // namespace esper::history
