#pragma once
// What the compile worker makes once on a machine (precompiled headers, object files), kept for all programs of tests
// of this build: it takes the compiler half a minute. A cache of a test's own starts with a copy.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "base/descriptor.h"
#include "support/umask.h"

namespace esper::test {

// The worker's folder in the cache that tests have where they name no other.
inline std::filesystem::path shared_worker_folder() { return ESPER_BINARY_DIR "/test-cache/programs/worker"; }

// One file and its code, as the worker stores them: both change under the lock of its folder.
inline void copy_kept_file(const std::filesystem::path& file, const std::filesystem::path& target,
                           const std::filesystem::path& worker_folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path partial = target.string() + ".partial-" + std::to_string(::getpid());
  const fs::path code = file.string() + ".mac", partial_code = partial.string() + ".mac";
  fs::create_directories(target.parent_path(), ignored);
  if (fs::copy_file(code, partial_code, ignored) && fs::copy_file(file, partial, ignored)) {
    const base::Descriptor lock(::open(worker_folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock.is_open() && ::flock(lock.number(), LOCK_EX) == 0 && !fs::exists(target, ignored)) {
      fs::rename(partial_code, target.string() + ".mac", ignored);
      fs::rename(partial, target, ignored);
    }
  }
  fs::remove(partial_code, ignored);
  fs::remove(partial, ignored);
}

// From one worker's folder into another's: each file that has its code beside it, and is not there yet. Those of
// clang++ hold the name of their folder and serve in no other.
inline void copy_kept_files(const std::filesystem::path& from, const std::filesystem::path& to) {
  namespace fs = std::filesystem;
  const Umask only_mine(077);
  std::error_code ignored;
  for (fs::directory_iterator version(from, ignored), end; version != end; version.increment(ignored)) {
    for (const char* kind : {"headers", "interfaces", "probes"}) {
      fs::recursive_directory_iterator entry(version->path() / kind, ignored), last;
      for (; !ignored && entry != last; entry.increment(ignored)) {
        const fs::path& file = entry->path();
        const fs::path target = to / file.lexically_relative(from);
        std::error_code unknown;
        const bool is_kept = fs::is_regular_file(file, unknown) && fs::exists(file.string() + ".mac", unknown);
        if (is_kept && file.extension() != ".pch" && !fs::exists(target, unknown)) copy_kept_file(file, target, to);
      }
    }
  }
}

}  // namespace esper::test
