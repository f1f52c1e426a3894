#include "base/scratch_folder.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/error.h"

namespace esper::base {

ScratchFolder::ScratchFolder(std::string_view prefix) {
  const char* named = std::getenv("TMPDIR");
  const std::filesystem::path place = named != nullptr && *named != '\0' ? named : "/tmp";
  path_ = std::filesystem::absolute(place) / fmt::format("{}-XXXXXX", prefix);
  if (mkdtemp(path_.data()) == nullptr) {
    throw Error(ExitCode::kResources, fmt::format("no folder for scratch files: {}: {}; set TMPDIR to another folder",
                                                  path_, std::generic_category().message(errno)));
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!is_kept_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace esper::base
