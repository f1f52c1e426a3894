#include "storage/folder_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/descriptor.h"
#include "storage/posix_files.h"

namespace esper::storage {
namespace {

using base::IoError;
using base::PathKind;

constexpr std::uint64_t kStatBlockBytes = 512;  // of st_blocks

WalkedEntry entry_of_status(std::string path, const struct stat& status) {
  WalkedEntry entry;
  entry.path = std::move(path);
  entry.kind = kind_of_mode(status.st_mode);
  entry.is_link = S_ISLNK(status.st_mode);
  if (entry.kind == PathKind::kFile) {
    entry.bytes = std::min(static_cast<std::uint64_t>(status.st_size), status.st_blocks * kStatBlockBytes);
  }
  entry.modified_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  entry.inode = status.st_ino;
  return entry;
}

WalkedEntry untimed_folder(std::string path, std::uint64_t inode) {
  WalkedEntry entry;
  entry.path = std::move(path);
  entry.kind = PathKind::kFolder;
  entry.inode = inode;
  return entry;
}

// Closed, with errno set, where it cannot be opened.
base::Descriptor open_listed(int at, const char* name, int follow) {
  return base::Descriptor(retried([&] { return ::openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | follow); }));
}

// The names in an open folder and, where the file system says it, whether they are folders. readdir() would allocate
// and ask for the folder's status each time.
class Names {
 public:
  explicit Names(const base::Descriptor& folder) : folder_(folder) {}

  // Null at the end.
  const dirent64* next() {
    if (at_ == filled_) {
      const auto got = retried([&] { return ::getdents64(folder_.number(), buffer_.data(), buffer_.size()); });
      at_ = 0;
      filled_ = got > 0 ? static_cast<std::size_t>(got) : 0;
      if (filled_ == 0) return nullptr;
    }
    const auto* entry = reinterpret_cast<const dirent64*>(buffer_.data() + at_);
    at_ += entry->d_reclen;
    return entry;
  }

 private:
  const base::Descriptor& folder_;
  alignas(dirent64) std::array<char, 16 << 10> buffer_;
  std::size_t at_ = 0, filled_ = 0;
};

class Walker {
 public:
  Walker(WalkLimits limits, FolderWalk& walk) : limits_(limits), walk_(walk) {}

  void enter(const base::Descriptor& folder, const std::string& prefix, int depth) {
    auto found = list(folder, prefix);
    std::ranges::sort(found, {}, &WalkedEntry::path);
    for (auto& entry : found) {
      if (walk_.entries.size() == limits_.entries) {
        return give_up(fmt::format("it holds more than {} files", limits_.entries));
      }
      walk_.entries.push_back(std::move(entry));
      const auto& kept = walk_.entries.back();
      if (kept.kind != PathKind::kFolder || limits_.depth == 1) continue;
      if (depth == limits_.depth) {
        give_up(fmt::format("it is nested more than {} deep", limits_.depth));
        continue;
      }
      const std::string path = kept.path;
      const auto below = open_listed(folder.number(), path.c_str() + prefix.size(), O_NOFOLLOW);
      below.is_open() ? enter(below, path + "/", depth + 1) : give_up(IoError("list", path, errno).what());
    }
  }

 private:
  // One more than may be there shows that there are too many.
  std::vector<WalkedEntry> list(const base::Descriptor& folder, const std::string& prefix) {
    std::vector<WalkedEntry> found;
    Names names(folder);
    while (found.size() + walk_.entries.size() <= limits_.entries) {
      const dirent64* listed = names.next();
      if (listed == nullptr) break;
      const std::string_view name = listed->d_name;
      struct stat status{};
      if (name == "." || name == "..") continue;
      if (listed->d_type == DT_DIR && (!prefix.empty() || !limits_.folder_times)) {
        found.push_back(untimed_folder(std::string(prefix).append(name), listed->d_ino));
        continue;
      }
      if (::fstatat(folder.number(), listed->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0) continue;  // just removed
      found.push_back(entry_of_status(std::string(prefix).append(name), status));
    }
    return found;
  }

  void give_up(std::string why) {
    if (walk_.incomplete.empty()) walk_.incomplete = std::move(why);
  }

  WalkLimits limits_;
  FolderWalk& walk_;
};

}  // namespace

FolderWalk walk_folder(const std::string& folder, WalkLimits limits) {
  const auto opened = open_listed(AT_FDCWD, folder.c_str(), 0);
  if (!opened.is_open()) throw IoError("list", folder, errno);
  return walk_folder(opened, limits);
}

FolderWalk walk_folder(const base::Descriptor& folder, WalkLimits limits) {
  FolderWalk walk;
  Walker(limits, walk).enter(folder, "", 1);
  return walk;
}

std::uint64_t bytes_of(const FolderWalk& walk) {
  std::uint64_t bytes = 0;
  for (const auto& entry : walk.entries) bytes += entry.bytes;
  return bytes;
}

}  // namespace esper::storage
