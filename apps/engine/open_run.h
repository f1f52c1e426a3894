#pragma once
// The folder of a run that is trained here, and what may be written there.

#include <string>

#include "base/file_system.h"
#include "base/interrupt.h"
#include "config/run_config.h"
#include "tolaria/run/run_folder.h"

namespace esper::engine {

// A run folder, and the file system that may touch nothing but it.
struct OpenRun {
  base::FileSystem& files;
  tolaria::RunFolder folder;
};

// Throws as open_run_folder().
OpenRun open_run(const std::string& path);
// Throws as create_run_folder(). From here on a signal is a request, which waits until the folder is whole: see
// end_if_interrupted().
OpenRun create_run(const std::string& path, const config::RunConfig& config, base::Interrupt& interrupt);

// Where a signal came since this run folder was begun: throws Error with its exit code; the text says how to train the
// run.
void end_if_interrupted(const std::string& path);

}  // namespace esper::engine
