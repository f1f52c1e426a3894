#include "storage/space_reserve.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "storage/file_tools.h"

namespace esper::storage {
namespace {

constexpr std::uint64_t kBlock = 1 << 20;

std::uint64_t size_at(base::FileSystem& files, const std::string& path) {
  return files.kind_of(path) == base::PathKind::kFile ? files.open(path, base::OpenMode::kRead).size() : 0;
}

}  // namespace

SpaceReserve::SpaceReserve(base::FileSystem& files, std::string path)
    : files_(&files), path_(std::move(path)), bytes_(size_at(files, path_)) {}

void SpaceReserve::grow_to(std::uint64_t bytes) {
  if (bytes <= bytes_) return;
  auto file = files_->open(path_, base::OpenMode::kAppend);
  const std::vector<std::byte> zeros(std::min(kBlock, bytes - bytes_));
  try {
    for (auto reached = bytes_; reached < bytes;) {
      const auto part = std::min<std::uint64_t>(zeros.size(), bytes - reached);
      file.write(std::span(zeros).first(part));
      reached += part;
    }
    file.sync();
    bytes_ = bytes;
  } catch (const base::IoError&) {
    if (bytes_ > 0) {
      file.truncate(bytes_);
    } else {
      release();
    }
    throw;
  }
}

std::uint64_t SpaceReserve::release() {
  remove_all(*files_, path_);
  return std::exchange(bytes_, 0);
}

}  // namespace esper::storage
