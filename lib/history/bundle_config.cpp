#include "history/bundle_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/text/problem.h"
#include "history/run_config.h"
#include "storage/confined_file_system.h"

namespace esper::history {
namespace {

void require_bundle(base::FileSystem& files, const std::string& bundle) {
  const bool is_folder = files.kind_of(bundle) == base::PathKind::kFolder;
  for (const char* const file : {kBundleStepFile, kRunConfigFile}) {
    if (is_folder && files.kind_of(bundle + "/" + file) == base::PathKind::kFile) continue;
    throw base::Error(base::ExitCode::kConfig,
                      fmt::format("{} is not a bundle: there is no {} in it; a run writes bundles into its folder {} "
                                  "(RUN/{}/{}) when a step goes wrong",
                                  bundle, file, kBundlesFolder, kBundlesFolder, bundle_name(37)));
  }
}

}  // namespace

std::string bundle_name(std::int64_t step) { return fmt::format("step-{:09}", step); }

bool is_bundle_name(std::string_view name) {
  constexpr std::string_view kPrefix = "step-";
  return name.starts_with(kPrefix) && name.find_first_not_of("0123456789", kPrefix.size()) == std::string_view::npos;
}

std::string newest_bundle(base::FileSystem& files, const std::string& run_folder) {
  const std::string folder = run_folder + "/" + kBundlesFolder;
  if (files.kind_of(folder) != base::PathKind::kFolder) return {};
  std::string newest;
  for (const auto& entry : files.list(folder)) {
    if (is_bundle_name(entry.name)) newest = std::max(newest, entry.name);
  }
  return newest.empty() ? newest : folder + "/" + newest;
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
