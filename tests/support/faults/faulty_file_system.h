#pragma once
// A file system in memory that fails on demand: the n-th call, no space left, short writes, a process that is killed,
// and a power loss that takes everything not synced. Contents and folder entries are made durable separately, as POSIX
// has it. After a sync of a file that failed, later ones leave out what it did not write, as Linux has it. Every call
// of the interface counts as one. Any thread.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "support/faults/file_tree.h"

namespace esper::test {

// Thrown by the chosen call and by every later one: the process is gone. Not an IoError, so that no handler of I/O
// failures takes it for one.
struct ProcessKilled {};

class FaultyFileSystem final : public base::FileSystem {
 public:
  FaultyFileSystem();
  ~FaultyFileSystem() override;

  // Calls are counted from here on, the first is 1.
  void fail_call(int n, int error_number);  // that one only
  void kill_at_call(int n);                 // a write that is hit stores the first half of its bytes
  void limit_bytes(std::uint64_t bytes);    // all files together; ENOSPC beyond
  void limit_write(std::size_t bytes);      // longest single write
  // A disk that hangs: every call waits until it is released; after kLongestHold it fails, so that no test hangs.
  void hold_calls();
  void release_calls();
  bool has_held_call() const { return has_held_call_; }  // one waits, or waited
  static constexpr std::chrono::seconds kLongestHold{160};
  bool fault_happened() const { return fault_happened_; }
  int calls() const { return calls_; }

  // A new process on the same machine: faults and locks end, everything written is there.
  void restart();
  // A new process after a power loss; `seed` chooses the outcome of kReorder.
  void lose_power(PowerLoss what, std::uint64_t seed = 0);

  // Around the interface, uncounted: what is there, and putting something there durably.
  std::optional<std::string> contents(const std::string& path) const;
  void put(const std::string& path, std::string contents);
  std::vector<std::string> names_in(const std::string& folder) const;
  std::uint64_t used_bytes() const;  // what limit_bytes is about

  void make_folder(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  std::vector<base::FolderEntry> list(const std::string& path) override;
  base::PathKind kind_of(const std::string& path) override;
  void sync_folder(const std::string& path) override;
  std::uint64_t free_bytes(const std::string& path) override;

 private:
  struct Handle;
  struct EntryChange {  // of one folder, not yet synced
    FileNodePointer folder;
    EntryChanges entries;
  };

  int open_handle(const std::string& path, base::OpenMode mode) override;
  int try_lock_handle(const std::string& path) override;
  std::size_t write_some(int handle, std::span<const std::byte> bytes) override;
  std::size_t read_some(int handle, std::uint64_t offset, std::span<std::byte> bytes) override;
  std::uint64_t size_of(int handle) override;
  void truncate_handle(int handle, std::uint64_t bytes) override;
  void start_sync_handle(int handle) override;
  void sync_handle(int handle) override;
  void close_handle(int handle) override;

  void count_call(const char* operation, const std::string& path);
  FileNodePointer find(const std::string& path) const;
  std::pair<FileNodePointer, std::string> place_of(const std::string& path, const char* operation) const;
  FileNodePointer open_node(const std::string& path, const char* operation);
  int add_handle(FileNodePointer node, const std::string& path, base::OpenMode mode);
  Handle& at(int handle);
  void change(const FileNodePointer& folder, EntryChanges entries);

  std::mutex hold_mutex_;
  std::condition_variable released_;
  bool holding_ = false;
  std::atomic<bool> has_held_call_ = false;
  mutable std::mutex mutex_;
  FileNodePointer root_;
  std::map<int, Handle> handles_;
  std::vector<EntryChange> unsynced_;
  int next_handle_ = 3;
  std::atomic<int> calls_ = 0;
  int fail_at_ = 0;
  int fail_with_ = 0;
  int kill_at_ = 0;
  bool fault_happened_ = false;
  std::uint64_t max_bytes_ = UINT64_MAX;
  std::size_t max_write_ = SIZE_MAX;
};

}  // namespace esper::test
