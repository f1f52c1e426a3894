#pragma once
// What the file systems of a running process have in common: everything that is done with an open descriptor.

#include "base/file_system.h"

namespace esper::storage {

// The result of a call that says -1 and sets errno, repeated while a signal interrupts it. Not for fsync(2): what
// failed to reach the disk is clean for the kernel, so a second call could succeed without it.
template <class Call>
auto retried(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

base::PathKind kind_of_mode(unsigned mode);

// Entries of the open folder, sorted by name. Takes the descriptor over. `path` is for messages.
std::vector<base::FolderEntry> list_folder(int folder, const std::string& path);

class PosixFiles : public base::FileSystem {
 protected:
  // Takes the lock of an open file, which is closed if it is taken. `path` is for messages.
  static int lock_or_close(int handle, const std::string& path);

 private:
  std::size_t write_some(int handle, std::span<const std::byte> bytes) override;
  std::size_t read_some(int handle, std::uint64_t offset, std::span<std::byte> bytes) override;
  std::uint64_t size_of(int handle) override;
  void truncate_handle(int handle, std::uint64_t bytes) override;
  void start_sync_handle(int handle) override;
  void sync_handle(int handle) override;
  void close_handle(int handle) override;
};

}  // namespace esper::storage
