#pragma once
// Rows that a database may lack which was saved by hand after damage. What needs one cannot go on, and all else can.
// Any thread.

#include <string>

#include "base/text/problem.h"

namespace esper::jobs {

// "the run file of job 3"
base::ConfigError missing_row(const std::string& what);

}  // namespace esper::jobs
