#include "storage/moved_away.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "storage/file_tools.h"

namespace esper::storage {

MovedAway::MovedAway(base::FileSystem& files, std::string path)
    : files_(files), path_(std::move(path)), aside_(free_name(files, fmt::format("{}.old-{}", path_, getpid()))) {
  files_.rename(path_, aside_);
}

void MovedAway::remove(const std::vector<std::string>& last) {
  is_replaced_ = true;
  if (files_.kind_of(aside_) == base::PathKind::kFolder) {
    for (const auto& entry : files_.list(aside_)) {
      if (std::ranges::find(last, entry.name) == last.end()) remove_all(files_, aside_ + "/" + entry.name);
    }
  }
  remove_all(files_, aside_);
}

MovedAway::~MovedAway() {
  try {
    is_replaced_ ? remove_all(files_, aside_) : files_.rename(aside_, path_);
  } catch (const base::IoError&) {
    // It is still there, under the other name.
  }
}

}  // namespace esper::storage
