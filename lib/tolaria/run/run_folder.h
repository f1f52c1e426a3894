#pragma once
// The folder that holds everything of a run: config.yaml (resolved), telemetry.jsonl, journal, checkpoints/,
// changes/ if settings were changed, bundles/ if steps went wrong, blackbox, summary.json, trace.json if enabled, and
// the lock that ensures a single writer.
// Training thread.

#include <cstdint>
#include <string>

#include "base/file_system.h"

namespace esper::tolaria {

struct RunFolder {
  std::string path;
  base::File lock;  // held while the run lives

  std::string config() const { return path + "/config.yaml"; }
  std::string telemetry() const { return path + "/telemetry.jsonl"; }
  std::string journal() const { return path + "/journal"; }
  std::string checkpoints() const { return path + "/checkpoints"; }
  std::string trace() const { return path + "/trace.json"; }
  std::string kernel_trace() const { return path + "/kernel_trace.json"; }
  std::string summary() const { return path + "/summary.json"; }
  // "digits-20260301-101500": names the run in telemetry.
  std::string run_id() const;
};

// Creates the folder `path`, takes its lock and publishes config.yaml. Throws Error{kConfig} if it already holds a run,
// or folders of runs, or lies in one, and Error{kTryAgain} if another process holds the lock.
RunFolder create_run_folder(base::FileSystem& files, const std::string& path, const std::string& config_yaml);

// Takes the lock of an existing run. Throws Error{kConfig} if there is none, Error{kTryAgain} if it is in use.
RunFolder open_run_folder(base::FileSystem& files, const std::string& path);

// "<runs_dir>/<name>-<UTC time>", with -2, -3, ... if that is taken. wall_ns: since the UNIX epoch.
std::string new_run_path(base::FileSystem& files, const std::string& runs_dir, const std::string& name,
                         std::uint64_t wall_ns);

}  // namespace esper::tolaria
