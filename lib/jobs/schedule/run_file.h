#pragma once
// Reading run files of submissions.

#include <string>

#include "config/loading/load.h"

namespace esper::jobs {

// Of a run file's text; its problems have what training refuses (config/loading/training_check.h). The last one is
// kept, since a submission is checked and then forecast, and reading it is most of what a submission takes; valid until
// the next call. Any thread; each has its own.
const config::LoadedConfig& read_run_file(const std::string& text);

}  // namespace esper::jobs
