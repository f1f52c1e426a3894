#include "support/faults/faulty_file_system.h"

#include <algorithm>
#include <random>

#include "storage/bytes.h"

namespace esper::test {

using base::FolderEntry;
using base::IoError;
using base::OpenMode;
using base::PathKind;

struct FaultyFileSystem::Handle {
  FileNodePointer node;
  std::string path;
  OpenMode mode;
  std::size_t position;
  bool holds_lock;
};

FaultyFileSystem::FaultyFileSystem() : root_(std::make_shared<FileNode>()) { root_->is_folder = true; }
FaultyFileSystem::~FaultyFileSystem() = default;

void FaultyFileSystem::fail_call(int n, int error_number) {
  calls_ = 0;
  fault_happened_ = false;
  fail_at_ = n;
  fail_with_ = error_number;
}

void FaultyFileSystem::kill_at_call(int n) {
  calls_ = 0;
  fault_happened_ = false;
  kill_at_ = n;
}

void FaultyFileSystem::limit_bytes(std::uint64_t bytes) { max_bytes_ = bytes; }
void FaultyFileSystem::limit_write(std::size_t bytes) { max_write_ = bytes; }

void FaultyFileSystem::restart() {
  for (auto& [number, handle] : handles_) {
    if (handle.holds_lock) handle.node->locked = false;
  }
  handles_.clear();
  fail_at_ = kill_at_ = 0;
}

void FaultyFileSystem::lose_power(PowerLoss what, std::uint64_t seed) {
  restart();
  std::mt19937_64 random(seed);
  for (const auto& pending : unsynced_) {
    if (what == PowerLoss::kKeepEntries || (what == PowerLoss::kReorder && random() % 2 == 0)) {
      apply_changes(pending.folder->durable_entries, pending.entries);
    }
  }
  unsynced_.clear();
  recover(*root_, what, random);
}

void FaultyFileSystem::hold_calls() {
  const std::lock_guard guard(hold_mutex_);
  holding_ = true;
}

void FaultyFileSystem::release_calls() {
  const std::lock_guard guard(hold_mutex_);
  holding_ = false;
  released_.notify_all();
}

void FaultyFileSystem::count_call(const char* operation, const std::string& path) {
  {
    std::unique_lock hold(hold_mutex_);
    if (holding_) has_held_call_ = true;
    if (!released_.wait_for(hold, kLongestHold, [&] { return !holding_; })) throw IoError(operation, path, ETIMEDOUT);
  }
  ++calls_;
  if (kill_at_ > 0 && calls_ >= kill_at_) {
    fault_happened_ = true;
    throw ProcessKilled{};
  }
  if (fail_at_ > 0 && calls_ == fail_at_) {
    fault_happened_ = true;
    throw IoError(operation, path, fail_with_);
  }
}

FileNodePointer FaultyFileSystem::find(const std::string& path) const { return find_node(root_, parts_of(path)); }

std::pair<FileNodePointer, std::string> FaultyFileSystem::place_of(const std::string& path,
                                                                   const char* operation) const {
  auto parts = parts_of(path);
  if (parts.empty()) throw IoError(operation, path, EBUSY);
  const std::string name = parts.back();
  parts.pop_back();
  const auto folder = find_node(root_, parts);
  if (!folder) throw IoError(operation, path, ENOENT);
  if (!folder->is_folder) throw IoError(operation, path, ENOTDIR);
  return {folder, name};
}

void FaultyFileSystem::change(const FileNodePointer& folder, EntryChanges entries) {
  apply_changes(folder->entries, entries);
  unsynced_.push_back({folder, std::move(entries)});
}

std::uint64_t FaultyFileSystem::used_bytes() const { return bytes_in(*root_); }

std::optional<std::string> FaultyFileSystem::contents(const std::string& path) const {
  const auto node = find(path);
  if (!node || node->is_folder) return std::nullopt;
  return node->data;
}

void FaultyFileSystem::put(const std::string& path, std::string contents) {
  const auto [folder, name] = place_of(path, "put");
  const auto node = std::make_shared<FileNode>();
  node->data = node->durable_data = std::move(contents);
  folder->entries[name] = folder->durable_entries[name] = node;
}

std::vector<std::string> FaultyFileSystem::names_in(const std::string& path) const {
  std::vector<std::string> names;
  const auto node = find(path);
  if (!node) return names;
  for (const auto& [name, child] : node->entries) names.push_back(name);
  return names;
}

void FaultyFileSystem::make_folder(const std::string& path) {
  const std::lock_guard guard(mutex_);
  count_call("make folder", path);
  const auto [folder, name] = place_of(path, "make folder");
  if (folder->entries.contains(name)) throw IoError("make folder", path, EEXIST);
  const auto node = std::make_shared<FileNode>();
  node->is_folder = true;
  change(folder, {{name, node}});
}

void FaultyFileSystem::rename(const std::string& from, const std::string& to) {
  const std::lock_guard guard(mutex_);
  count_call("rename", from);
  const auto node = find(from);
  if (!node) throw IoError("rename", from, ENOENT);
  const auto [from_folder, from_name] = place_of(from, "rename");
  const auto [to_folder, to_name] = place_of(to, "rename");
  if (const auto target = find(to)) {
    if (target->is_folder != node->is_folder) throw IoError("rename", to, target->is_folder ? EISDIR : ENOTDIR);
    if (!target->entries.empty()) throw IoError("rename", to, ENOTEMPTY);
  }
  if (from_folder == to_folder) {
    change(to_folder, {{from_name, nullptr}, {to_name, node}});
  } else {
    change(to_folder, {{to_name, node}});
    change(from_folder, {{from_name, nullptr}});
  }
}

void FaultyFileSystem::remove(const std::string& path) {
  const std::lock_guard guard(mutex_);
  count_call("remove", path);
  const auto node = find(path);
  if (!node) throw IoError("remove", path, ENOENT);
  if (!node->entries.empty()) throw IoError("remove", path, ENOTEMPTY);
  const auto [folder, name] = place_of(path, "remove");
  change(folder, {{name, nullptr}});
}

std::vector<FolderEntry> FaultyFileSystem::list(const std::string& path) {
  const std::lock_guard guard(mutex_);
  count_call("list", path);
  const auto node = find(path);
  if (!node) throw IoError("list", path, ENOENT);
  if (!node->is_folder) throw IoError("list", path, ENOTDIR);
  std::vector<FolderEntry> entries;
  for (const auto& [name, child] : node->entries) {
    entries.push_back({name, child->is_folder ? PathKind::kFolder : PathKind::kFile});
  }
  return entries;
}

PathKind FaultyFileSystem::kind_of(const std::string& path) {
  const std::lock_guard guard(mutex_);
  count_call("stat", path);
  const auto node = find(path);
  if (!node) return PathKind::kNothing;
  return node->is_folder ? PathKind::kFolder : PathKind::kFile;
}

void FaultyFileSystem::sync_folder(const std::string& path) {
  const std::lock_guard guard(mutex_);
  count_call("sync folder", path);
  const auto node = find(path);
  if (!node || !node->is_folder) throw IoError("sync folder", path, node ? ENOTDIR : ENOENT);
  node->durable_entries = node->entries;
  std::erase_if(unsynced_, [&](const EntryChange& pending) { return pending.folder == node; });
}

std::uint64_t FaultyFileSystem::free_bytes(const std::string& path) {
  const std::lock_guard guard(mutex_);
  count_call("get the free space of", path);
  const std::uint64_t used = used_bytes();
  return used < max_bytes_ ? max_bytes_ - used : 0;
}

FileNodePointer FaultyFileSystem::open_node(const std::string& path, const char* operation) {
  auto node = find(path);
  if (node && node->is_folder) throw IoError(operation, path, EISDIR);
  if (node) return node;
  const auto [folder, name] = place_of(path, operation);
  node = std::make_shared<FileNode>();
  change(folder, {{name, node}});
  return node;
}

int FaultyFileSystem::add_handle(FileNodePointer node, const std::string& path, OpenMode mode) {
  handles_.emplace(next_handle_, Handle{std::move(node), path, mode, 0, false});
  return next_handle_++;
}

FaultyFileSystem::Handle& FaultyFileSystem::at(int handle) {
  const auto found = handles_.find(handle);
  if (found == handles_.end()) throw IoError("use", "file " + std::to_string(handle), EBADF);
  return found->second;
}

int FaultyFileSystem::open_handle(const std::string& path, OpenMode mode) {
  const std::lock_guard guard(mutex_);
  count_call("open", path);
  if (mode == OpenMode::kRead && !find(path)) throw IoError("open", path, ENOENT);
  auto node = open_node(path, "open");
  if (mode == OpenMode::kReplace) {
    node->data.clear();
    node->dropped_pages.clear();
  }
  return add_handle(std::move(node), path, mode);
}

int FaultyFileSystem::try_lock_handle(const std::string& path) {
  const std::lock_guard guard(mutex_);
  count_call("lock", path);
  auto node = open_node(path, "lock");
  if (node->locked) return -1;
  node->locked = true;
  const int handle = add_handle(std::move(node), path, OpenMode::kReplace);
  at(handle).holds_lock = true;
  return handle;
}

std::size_t FaultyFileSystem::write_some(int number, std::span<const std::byte> bytes) {
  const std::lock_guard guard(mutex_);
  auto& handle = at(number);
  auto store = [&](std::size_t count) {
    auto& data = handle.node->data;
    const std::size_t position = handle.mode == OpenMode::kAppend ? data.size() : handle.position;
    if (data.size() < position + count) data.resize(position + count, '\0');
    const auto text = storage::text_of(bytes.first(count));
    std::copy(text.begin(), text.end(), data.begin() + static_cast<std::ptrdiff_t>(position));
    change_pages(*handle.node, position, position + count);
    handle.position = position + count;
  };
  try {
    count_call("write", handle.path);
  } catch (const ProcessKilled&) {
    if (calls_ == kill_at_) store(bytes.size() / 2);
    throw;
  }
  const std::uint64_t used = used_bytes();
  const std::uint64_t room = used < max_bytes_ ? max_bytes_ - used : 0;
  if (room == 0) throw IoError("write", handle.path, ENOSPC);
  const std::size_t count = std::min<std::uint64_t>({bytes.size(), room, max_write_});
  store(count);
  return count;
}

std::size_t FaultyFileSystem::read_some(int number, std::uint64_t offset, std::span<std::byte> bytes) {
  const std::lock_guard guard(mutex_);
  auto& handle = at(number);
  count_call("read", handle.path);
  const auto& data = handle.node->data;
  if (offset >= data.size()) return 0;
  const std::size_t count = std::min<std::uint64_t>(bytes.size(), data.size() - offset);
  std::ranges::copy(storage::bytes_of(data).subspan(offset, count), bytes.begin());
  return count;
}

std::uint64_t FaultyFileSystem::size_of(int number) {
  const std::lock_guard guard(mutex_);
  auto& handle = at(number);
  count_call("get the size of", handle.path);
  return handle.node->data.size();
}

void FaultyFileSystem::truncate_handle(int number, std::uint64_t bytes) {
  const std::lock_guard guard(mutex_);
  auto& handle = at(number);
  count_call("truncate", handle.path);
  auto& data = handle.node->data;
  change_pages(*handle.node, std::min<std::size_t>(bytes, data.size()), std::max<std::size_t>(bytes, data.size()));
  data.resize(bytes, '\0');
}

// Nothing is durable by it.
void FaultyFileSystem::start_sync_handle(int number) {
  const std::lock_guard guard(mutex_);
  count_call("sync", at(number).path);
}

void FaultyFileSystem::sync_handle(int number) {
  const std::lock_guard guard(mutex_);
  auto& handle = at(number);
  try {
    count_call("sync", handle.path);
  } catch (const IoError&) {
    drop_unsynced_pages(*handle.node);
    throw;
  }
  handle.node->durable_data = synced(*handle.node);
}

void FaultyFileSystem::close_handle(int number) {
  const std::lock_guard guard(mutex_);
  const auto found = handles_.find(number);
  if (found == handles_.end()) return;  // of a process that is gone
  const Handle handle = std::move(found->second);
  if (handle.holds_lock) handle.node->locked = false;
  handles_.erase(found);
  count_call("close", handle.path);
}

}  // namespace esper::test
