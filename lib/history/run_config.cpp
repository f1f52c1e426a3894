#include "history/run_config.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "config/yaml/yaml_document.h"
#include "history/require_run_folder.h"
#include "storage/bytes.h"
#include "storage/confined_file_system.h"
#include "storage/file_tools.h"

namespace esper::history {

std::string config_in_run(const std::string& run_dir) {
  const std::filesystem::path path = std::filesystem::path(run_dir) / kRunConfigFile;
  storage::ConfinedFileSystem files(run_dir, storage::Owner::kAnyone);
  require_run_folder(files, run_dir);
  return path.string();
}

config::LoadedConfig read_kept_config(const std::string& folder, const std::string& host,
                                      const std::vector<std::string>& given) {
  const std::string path = (std::filesystem::path(folder) / kRunConfigFile).string();
  auto assignments = given;
  std::error_code ignored;
  const bool has_host = std::filesystem::is_directory(host, ignored);
  if (has_host) assignments.push_back("host.path=" + host);
  storage::ConfinedFileSystem files(folder, storage::Owner::kAnyone);
  auto file = files.open(path, base::OpenMode::kRead);
  // A byte more than the limit: that it is too large is one of the problems, with the place.
  std::vector<std::byte> bytes(std::min<std::uint64_t>(file.size(), config::YamlLimits::kBytes + 1));
  bytes.resize(file.read_at(0, bytes));
  config::LoadedConfig loaded =
      config::read_run_config_text(storage::text_of(bytes), path, assignments, config::DocumentKind::kOfRun);
  // What host.path named when the run began may be another network by now.
  if (loaded.config.host.kind == config::HostKind::kExported && !has_host) {
    throw base::Error(base::ExitCode::kCheckpoint,
                      storage::parent_of(host) + " has no folder " + kRunHostFolder +
                          " with the imported network that it trains; copy the whole run folder");
  }
  if (!loaded.problems.empty()) throw base::ConfigError(std::move(loaded.problems));
  return loaded;
}

config::LoadedConfig read_config_of_run(const std::string& run_dir, const std::vector<std::string>& given) {
  config_in_run(run_dir);
  return read_kept_config(run_dir, run_dir + "/" + kRunHostFolder, given);
}

}  // namespace esper::history
