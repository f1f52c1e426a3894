#pragma once
// The database's tables, brought up to this version.

#include <string>

#include "jobs/database/database.h"

namespace esper::jobs {

// Opens the database of `path`, checks that it is whole and runs the migrations that it lacks, each in a transaction of
// its own. Throws base::Error{kCheckpoint} with the way out for a file that is damaged or of a newer version.
Database open_database(const std::string& path);

}  // namespace esper::jobs
