#pragma once
// The FileSystem for a folder whose contents are not trusted: a run folder that may have been copied from elsewhere,
// the cache of compiled programs. Nothing below it is reached through a link, and only regular files are opened
// (storage/beneath.h). The folder itself, and those above it, may be asked for, listed, made and synced as they are
// anywhere; no other path outside is touched. Any thread.

#include "storage/beneath.h"
#include "storage/posix_files.h"

namespace esper::storage {

class ConfinedFileSystem final : public PosixFiles {
 public:
  // The folder need not be there yet.
  ConfinedFileSystem(std::string root, Owner owner) : beneath_(std::move(root), owner) {}

  void make_folder(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  // As rename(), but EEXIST if there is something at `to`.
  void rename_new(const std::string& from, const std::string& to);
  void remove(const std::string& path) override;
  std::vector<base::FolderEntry> list(const std::string& path) override;
  // Throws UnsafePath for a link, a pipe and the like.
  base::PathKind kind_of(const std::string& path) override;
  void sync_folder(const std::string& path) override;
  std::uint64_t free_bytes(const std::string& path) override;

 private:
  int open_handle(const std::string& path, base::OpenMode mode) override;
  int try_lock_handle(const std::string& path) override;
  bool is_below(const std::string& path) const;

  Beneath beneath_;
};

}  // namespace esper::storage
