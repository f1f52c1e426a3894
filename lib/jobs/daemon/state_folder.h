#pragma once
// The daemon's folder, which no other user may enter: jobs' environments and the token are in it. Any thread.

#include <string>

namespace esper::jobs {

// Makes it with mode 0700, folders above it as the umask says. One that has a daemon's files (jobs.db, lock,
// daemon.yaml, daemon.log) gets that mode; any other one that others may enter is refused with Error{kConfig}, since it
// may be meant for them. Throws IoError.
void make_state_folder(const std::string& path);

}  // namespace esper::jobs
