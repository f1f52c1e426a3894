#pragma once
// The interface to the disk. Every room that reads or writes a file takes a FileSystem&; storage/real_file_system.h is
// the one that runs, tests use one that can fail, fill up and lose power. Failures are IoError. A FileSystem may be
// used from any thread; one File belongs to one thread at a time.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"

namespace esper::base {

// One failed operation on one path. Uncaught it ends the command with ExitCode::kResources.
class IoError : public Error {
 public:
  // `error_number` is an errno value; `operation` is a verb ("write", "rename").
  IoError(const std::string& operation, std::string path, int error_number)
      : Error(ExitCode::kResources, "cannot " + operation + " " + path + ": " +
                                        std::generic_category().message(error_number) + " (errno " +
                                        std::to_string(error_number) + ")"),
        path_(std::move(path)),
        error_number_(error_number) {}
  // With an exit code and its own text.
  IoError(ExitCode code, const std::string& text, std::string path, int error_number)
      : Error(code, text), path_(std::move(path)), error_number_(error_number) {}

  const std::string& path() const { return path_; }
  int error_number() const { return error_number_; }
  // Of a write: space, quota or the file size limit (RLIMIT_FSIZE) is used up. Saving pauses and training continues,
  // since room can be made meanwhile.
  bool out_of_space() const { return error_number_ == ENOSPC || error_number_ == EDQUOT || error_number_ == EFBIG; }

 private:
  std::string path_;
  int error_number_;
};

enum class OpenMode {
  kRead,     // must exist and be a regular file
  kReplace,  // created, or emptied
  kAppend,   // created, or kept; every write goes to the end
};

enum class PathKind { kNothing, kFile, kFolder, kOther };

struct FolderEntry {
  std::string name;
  PathKind kind;  // of the entry itself: a symbolic link is kOther
};

class File;

// Paths are in the form of the operating system. Nothing is durable before a sync: contents by File::sync, the entry
// that names a file by sync_folder of its parent.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  File open(const std::string& path, OpenMode mode);

  // The advisory exclusive lock of a file, which is created if needed and open for writing. Nothing if another holder
  // has it; never waits. Ends with the File or with the process.
  std::optional<File> try_lock(const std::string& path);

  // Fails with EEXIST if there is something already.
  virtual void make_folder(const std::string& path) = 0;
  // Atomic; a file at `to` is replaced, a folder that is not empty is not (ENOTEMPTY or EEXIST).
  virtual void rename(const std::string& from, const std::string& to) = 0;
  // A file, a link or an empty folder.
  virtual void remove(const std::string& path) = 0;
  // Sorted by name.
  virtual std::vector<FolderEntry> list(const std::string& path) = 0;
  // Follows links.
  virtual PathKind kind_of(const std::string& path) = 0;
  virtual void sync_folder(const std::string& path) = 0;
  // Bytes that this user may still write in the file system of `path`.
  virtual std::uint64_t free_bytes(const std::string& path) = 0;

 private:
  friend class File;
  static constexpr int kHeldElsewhere = -1;

  virtual int open_handle(const std::string& path, OpenMode mode) = 0;
  virtual int try_lock_handle(const std::string& path) = 0;  // or kHeldElsewhere
  // May write or read less than asked; read 0 means the end of the file.
  virtual std::size_t write_some(int handle, std::span<const std::byte> bytes) = 0;
  virtual std::size_t read_some(int handle, std::uint64_t offset, std::span<std::byte> bytes) = 0;
  virtual std::uint64_t size_of(int handle) = 0;
  virtual void truncate_handle(int handle, std::uint64_t bytes) = 0;
  virtual void start_sync_handle(int handle) = 0;
  virtual void sync_handle(int handle) = 0;
  virtual void close_handle(int handle) = 0;
};

// An open file; closed with its scope. The FileSystem outlives it.
class File {
 public:
  File(File&& other) noexcept
      : file_system_(other.file_system_), handle_(std::exchange(other.handle_, -1)), path_(std::move(other.path_)) {}
  File& operator=(File&& other) noexcept {
    if (this != &other) {
      close_quietly();
      file_system_ = other.file_system_;
      handle_ = std::exchange(other.handle_, -1);
      path_ = std::move(other.path_);
    }
    return *this;
  }
  ~File() { close_quietly(); }

  const std::string& path() const { return path_; }

  // Writes all of it, or throws; how much was written before a failure is unknown.
  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::size_t written = file_system_->write_some(handle_, bytes);
      if (written == 0) throw IoError("write", path_, EIO);
      bytes = bytes.subspan(written);
    }
  }

  // Fills `bytes` from `offset` on; returns less than its size only at the end of the file.
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> bytes) {
    std::size_t total = 0;
    while (total < bytes.size()) {
      const std::size_t got = file_system_->read_some(handle_, offset + total, bytes.subspan(total));
      if (got == 0) break;
      total += got;
    }
    return total;
  }

  std::uint64_t size() { return file_system_->size_of(handle_); }
  void truncate(std::uint64_t bytes) { file_system_->truncate_handle(handle_, bytes); }
  // Begins to write to the disk what sync() would wait for: for several files first this of each, then sync() of each.
  void start_sync() { file_system_->start_sync_handle(handle_); }
  // Returns when contents and length are on the disk. After a failure what was written since the last success may be
  // lost, also where a later sync() succeeds: only what is written again is synced then.
  void sync() { file_system_->sync_handle(handle_); }
  // Only needed to learn of a failure; the scope closes too.
  void close() {
    if (handle_ >= 0) file_system_->close_handle(std::exchange(handle_, -1));
  }

 private:
  friend class FileSystem;
  File(FileSystem& file_system, int handle, std::string path)
      : file_system_(&file_system), handle_(handle), path_(std::move(path)) {}

  void close_quietly() noexcept {
    try {
      close();
    } catch (...) {  // callers that need the result have called close() or sync()
    }
  }

  FileSystem* file_system_;
  int handle_;
  std::string path_;
};

inline File FileSystem::open(const std::string& path, OpenMode mode) {
  return File(*this, open_handle(path, mode), path);
}

inline std::optional<File> FileSystem::try_lock(const std::string& path) {
  const int handle = try_lock_handle(path);
  if (handle == kHeldElsewhere) return std::nullopt;
  return File(*this, handle, path);
}

}  // namespace esper::base
