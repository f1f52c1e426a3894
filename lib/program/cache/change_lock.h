#pragma once
// Who changes a folder that processes share: one thread of one process at a time. Any thread.
//
//   FOLDER/lock   flock of the process that changes something

#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/file_system.h"

namespace esper::program {

class ChangeLock {
 public:
  struct Held {
    std::unique_lock<std::mutex> threads;
    base::File processes;
  };

  // `files` outlives it. Makes nothing yet.
  ChangeLock(base::FileSystem& files, const std::string& folder, base::Duration deadline, base::Clock clock)
      : files_(files), path_(folder + "/lock"), deadline_(deadline), clock_(std::move(clock)) {}

  // Waits for this process's other threads and for other processes until the deadline; nothing: one of them still has
  // it. The folder is there. Throws base::IoError.
  std::optional<Held> take();

 private:
  base::FileSystem& files_;
  const std::string path_;
  const base::Duration deadline_;
  const base::Clock clock_;
  std::mutex mutex_;  // publish_file wants one thread of a process at a time for one name
};

}  // namespace esper::program
