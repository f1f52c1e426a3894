#pragma once
// What the compile worker makes once on a machine (precompiled headers, object files), kept for all programs of tests
// of this build: it takes the compiler half a minute. A cache of a test's own starts with a copy.

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace esper::test {

// The worker's folder in the cache that tests have where they name no other.
inline std::filesystem::path shared_worker_folder() { return ESPER_BINARY_DIR "/test-cache/programs/worker"; }

// From one worker's folder into another's: each file that has its code beside it, and is not there yet. Whole, or not
// at all: other processes may do the same.
inline void copy_kept_files(const std::filesystem::path& from, const std::filesystem::path& to) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const auto copy = [&](const fs::path& file, const fs::path& target) {
    const fs::path partial = target.string() + ".partial-" + std::to_string(::getpid());
    if (fs::copy_file(file, partial, ignored)) fs::rename(partial, target, ignored);
    fs::remove(partial, ignored);
  };
  for (const auto& entry : fs::recursive_directory_iterator(from, ignored)) {
    const fs::path code = entry.path().string() + ".mac", target = to / entry.path().lexically_relative(from);
    if (!fs::is_regular_file(entry.path(), ignored) || !fs::exists(code) || fs::exists(target)) continue;
    fs::create_directories(target.parent_path(), ignored);
    copy(code, target.string() + ".mac");
    copy(entry.path(), target);
  }
}

}  // namespace esper::test
