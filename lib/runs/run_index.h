#pragma once
// The records of all runs below some folders, kept up to date without reading again what did not change. Any thread.

#include <string>
#include <vector>

#include "runs/run_record.h"

namespace esper::runs {

struct Refreshed {
  std::vector<RunRecord> runs;               // sorted by path
  std::size_t read = 0, kept = 0, gone = 0;  // records: read now; taken from `known`; of `known`, no longer there
  std::vector<std::string> problems;         // as of find_runs()
};

// `known`: of an earlier call, or from where the caller keeps them; records of folders that are not found below the
// roots are dropped. A record is kept where the folder's stamp (run_stamp.h) is the same. Reads with several threads.
Refreshed refresh(std::vector<RunRecord> known, const std::vector<std::string>& roots);

}  // namespace esper::runs
