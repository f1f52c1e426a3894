#include "engine/scratch.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace esper::engine {

Scratch::Scratch(std::string cache_dir) : cache_dir_(std::move(cache_dir)) {
  const char* named = std::getenv("TMPDIR");
  const std::filesystem::path place = named != nullptr && *named != '\0' ? named : "/tmp";
  folder_ = std::filesystem::absolute(place) / "esper-bench-XXXXXX";
  if (mkdtemp(folder_.data()) == nullptr) {
    throw base::Error(base::ExitCode::kResources,
                      fmt::format("no folder for the measurement: {}: {}; set TMPDIR to another folder", folder_,
                                  std::generic_category().message(errno)));
  }
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace esper::engine
