#include "history/require_run_folder.h"

#include <cerrno>

#include "base/error.h"

namespace esper::history {

using base::FileSystem;
using base::IoError;
using base::PathKind;

namespace {

// Empty where it is there.
std::string why_missing(FileSystem& files, const std::string& folder, const std::string& name) {
  if (folder.empty()) return "the name is empty";
  const PathKind kind = files.kind_of(folder);
  if (kind == PathKind::kNothing) return "it does not exist";
  if (kind == PathKind::kFile) return "it is a file";
  if (kind == PathKind::kOther) return "it is not a folder";
  if (files.kind_of(folder + "/" + name) != PathKind::kNothing) return {};
  return files.list(folder).empty() ? "it is an empty folder" : "there is no " + name + " in it";
}

// A folder whose configuration was lost has the rest of a run.
std::string remedy(FileSystem& files, const std::string& folder) {
  const bool is_folder = !folder.empty() && files.kind_of(folder) == PathKind::kFolder;
  if (is_folder && files.kind_of(folder + "/journal") == PathKind::kFile) {
    return "put it back, or recreate it from the run file and the --set values that the run had: esper config show "
           "RUNFILE --set ... > " +
           folder + "/config.yaml";
  }
  return "esper train creates one in runs_dir (runs/NAME-DATE-TIME) and prints its name at the end";
}

}  // namespace

void require_run_folder(FileSystem& files, const std::string& path) {
  try {
    files.open(path + "/config.yaml", base::OpenMode::kRead);
  } catch (const IoError& error) {
    const int number = error.error_number();
    if (number != ENOENT && number != ENOTDIR && number != ENAMETOOLONG) throw;
    throw base::Error(
        base::ExitCode::kConfig,
        path + " is not a run folder: " + why_missing(files, path, "config.yaml") + "; " + remedy(files, path));
  }
}

}  // namespace esper::history
