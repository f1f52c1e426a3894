#pragma once
// The folder that a job trains in. Any thread.

#include <filesystem>
#include <string>

#include "base/file_system.h"
#include "history/run_config.h"
#include "storage/real_file_system.h"

namespace esper::jobs {

// "r/" and "r/./" are "r", so that a folder is one text.
inline std::string one_form(const std::string& run_dir) {
  std::string path = std::filesystem::path(run_dir).lexically_normal();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// Whether a run was begun there: the folder has its configuration. Throws base::IoError.
inline bool has_run_folder(const std::string& run_dir) {
  const auto kind = storage::real_file_system().kind_of(run_dir + "/" + history::kRunConfigFile);
  return kind != base::PathKind::kNothing;
}

}  // namespace esper::jobs
