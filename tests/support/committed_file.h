#pragma once
// Comparing what the program generates with the file that is committed.

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/files.h"

namespace esper::test {

// path: relative to the repository's root, in docs/, configs/ or baselines/. Where the two differ the check fails, and
// the generated text is left in build/received/PATH, from where scripts/approve takes it.
inline void check_committed_file(const std::string& path, const std::string& generated) {
  const std::filesystem::path root = ESPER_SOURCE_DIR;
  const auto received = root / "build/received" / path;
  const bool same = std::filesystem::exists(root / path) && read_text(root / path) == generated;
  if (same) {
    std::filesystem::remove(received);
  } else {
    std::filesystem::create_directories(received.parent_path());
    std::ofstream(received, std::ios::binary) << generated;
  }
  INFO(path << " differs; the new text is in build/received/" << path << "; to take it: scripts/approve -m REASON");
  CHECK(same);
}

}  // namespace esper::test
