#include "engine/open_run.h"

#include <fmt/core.h>

#include <deque>

#include "base/error.h"
#include "config/writing/write.h"
#include "history/run_config.h"
#include "kasmina/host/host_package.h"
#include "storage/confined_file_system.h"

namespace esper::engine {
namespace {

// Never destroyed: a checkpoint writer whose I/O is stuck is left behind at the end, and may continue with it.
base::FileSystem& confine(const std::string& run_folder) {
  static auto* const kept = new std::deque<storage::ConfinedFileSystem>;
  return kept->emplace_back(run_folder, storage::Owner::kAnyone);
}

}  // namespace

OpenRun open_run(const std::string& path) {
  base::FileSystem& files = confine(path);
  return {files, tolaria::open_run_folder(files, path)};
}

OpenRun create_run(const std::string& path, const config::RunConfig& config, base::Interrupt& interrupt) {
  base::FileSystem& files = confine(path);
  interrupt.begin_saving();
  OpenRun open{files, tolaria::create_run_folder(files, path, config::resolved_yaml(config))};
  kasmina::keep_host_package(config.host, files, path + "/" + history::kRunHostFolder);
  return open;
}

void end_if_interrupted(const std::string& path) {
  const int signal = base::Interrupt::requested();
  if (signal == 0) return;
  throw base::Error(static_cast<base::ExitCode>(128 + signal),
                    fmt::format("interrupted by signal {} before training began; to train the run: esper train "
                                "--resume {}",
                                signal, path));
}

}  // namespace esper::engine
