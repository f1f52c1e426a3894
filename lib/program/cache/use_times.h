#pragma once
// When each entry of a cache was last used. Best effort: an entry whose time is lost only looks older than it is. Any
// thread, any number of processes.
//
//   FOLDER/KEY   nanoseconds since the UNIX epoch

#include <atomic>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/file_system.h"

namespace esper::program {

class UseTimes {
 public:
  // `files` outlives it. Makes nothing; without the folder nothing is kept.
  UseTimes(base::FileSystem& files, std::string folder, base::Clock clock)
      : files_(files), folder_(std::move(folder)), clock_(std::move(clock)) {}

  void touch(const std::string& key);
  // 0: unknown. Never in the future.
  std::int64_t last_use(const std::string& key);
  // Throws base::IoError.
  void forget(const std::string& key);

 private:
  std::string path_of(const std::string& key) const { return folder_ + "/" + key; }

  base::FileSystem& files_;
  const std::string folder_;
  const base::Clock clock_;
  std::atomic<std::uint64_t> touches_{0};
};

}  // namespace esper::program
