#include "support/baseline.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace esper::test {

bool matches_baseline(const std::string& path, const std::string& text) {
  namespace fs = std::filesystem;
  const fs::path root = ESPER_SOURCE_DIR;
  const fs::path received = root / "build" / "received" / path;
  std::ifstream stream(root / "baselines" / path, std::ios::binary);
  std::ostringstream approved;
  approved << stream.rdbuf();
  if (stream && approved.str() == text) {
    fs::remove(received);
    return true;
  }
  fs::create_directories(received.parent_path());
  std::ofstream(received, std::ios::binary) << text;
  return false;
}

}  // namespace esper::test
