#include "support/faulty_file_system.h"

#include <algorithm>
#include <functional>
#include <random>

#include "storage/bytes.h"

namespace esper::test {

using leyline::FolderEntry;
using leyline::IoError;
using leyline::OpenMode;
using leyline::PathKind;

struct FaultyFileSystem::Node {
  bool is_folder = false;
  bool locked = false;
  std::string data;
  std::string durable_data;
  std::map<std::string, NodePointer> entries;
  std::map<std::string, NodePointer> durable_entries;
};

struct FaultyFileSystem::Handle {
  NodePointer node;
  std::string path;
  OpenMode mode;
  std::size_t position;
  bool holds_lock;
};

namespace {

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (start <= path.size()) {
    const auto end = std::min(path.find('/', start), path.size());
    const auto part = path.substr(start, end - start);
    if (!part.empty() && part != ".") parts.push_back(part);
    start = end + 1;
  }
  return parts;
}

template <class Entries>
void apply_changes(Entries& entries,
                   const std::vector<std::pair<std::string, typename Entries::mapped_type>>& changes) {
  for (const auto& [name, node] : changes) {
    if (node) {
      entries[name] = node;
    } else {
      entries.erase(name);
    }
  }
}

// What a power loss may leave of a file: all, nothing new, or its length with the last written part zero.
std::string torn(const std::string& durable, const std::string& current, std::mt19937_64& random) {
  switch (random() % 3) {
    case 0:
      return durable;
    case 1:
      return current;
    default: {
      std::string result = current;
      const std::size_t common =
          std::mismatch(durable.begin(), durable.end(), current.begin(), current.end()).first - durable.begin();
      const std::size_t kept = common + (current.size() > common ? random() % (current.size() - common) : 0);
      std::fill(result.begin() + static_cast<std::ptrdiff_t>(kept), result.end(), '\0');
      return result;
    }
  }
}

std::string with_zeros(const std::string& durable, const std::string& current) {
  std::string result = current;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (i >= durable.size() || durable[i] != current[i]) result[i] = '\0';
  }
  return result;
}

}  // namespace

FaultyFileSystem::FaultyFileSystem() : root_(std::make_shared<Node>()) { root_->is_folder = true; }
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
  const std::function<void(Node&)> recover = [&](Node& node) {
    if (what == PowerLoss::kKeepEntries) node.durable_data = with_zeros(node.durable_data, node.data);
    if (what == PowerLoss::kReorder) node.durable_data = torn(node.durable_data, node.data, random);
    node.data = node.durable_data;
    node.entries = node.durable_entries;
    for (auto& [name, child] : node.entries) recover(*child);
  };
  recover(*root_);
}

void FaultyFileSystem::count_call(const char* operation, const std::string& path) {
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

FaultyFileSystem::NodePointer FaultyFileSystem::find(const std::string& path) const {
  NodePointer node = root_;
  for (const auto& part : parts_of(path)) {
    const auto entry = node->entries.find(part);
    if (entry == node->entries.end()) return nullptr;
    node = entry->second;
  }
  return node;
}

std::pair<FaultyFileSystem::NodePointer, std::string> FaultyFileSystem::place_of(const std::string& path,
                                                                                 const char* operation) const {
  auto parts = parts_of(path);
  if (parts.empty()) throw IoError(operation, path, EBUSY);
  const std::string name = parts.back();
  parts.pop_back();
  NodePointer node = root_;
  for (const auto& part : parts) {
    const auto entry = node->entries.find(part);
    if (entry == node->entries.end()) throw IoError(operation, path, ENOENT);
    node = entry->second;
  }
  if (!node->is_folder) throw IoError(operation, path, ENOTDIR);
  return {node, name};
}

void FaultyFileSystem::change(const NodePointer& folder, std::vector<std::pair<std::string, NodePointer>> entries) {
  apply_changes(folder->entries, entries);
  unsynced_.push_back({folder, std::move(entries)});
}

std::uint64_t FaultyFileSystem::used_bytes() const {
  const std::function<std::uint64_t(const Node&)> size = [&](const Node& node) {
    std::uint64_t total = node.data.size();
    for (const auto& [name, child] : node.entries) total += size(*child);
    return total;
  };
  return size(*root_);
}

std::optional<std::string> FaultyFileSystem::contents(const std::string& path) const {
  const auto node = find(path);
  if (!node || node->is_folder) return std::nullopt;
  return node->data;
}

void FaultyFileSystem::put(const std::string& path, std::string contents) {
  const auto [folder, name] = place_of(path, "put");
  const auto node = std::make_shared<Node>();
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
  const auto node = std::make_shared<Node>();
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
  count_call("look at", path);
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
  count_call("ask for free space of", path);
  const std::uint64_t used = used_bytes();
  return used < max_bytes_ ? max_bytes_ - used : 0;
}

FaultyFileSystem::NodePointer FaultyFileSystem::open_node(const std::string& path, const char* operation) {
  auto node = find(path);
  if (node && node->is_folder) throw IoError(operation, path, EISDIR);
  if (node) return node;
  const auto [folder, name] = place_of(path, operation);
  node = std::make_shared<Node>();
  change(folder, {{name, node}});
  return node;
}

int FaultyFileSystem::add_handle(NodePointer node, const std::string& path, OpenMode mode) {
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
  if (mode == OpenMode::kReplace) node->data.clear();
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
  count_call("ask for the size of", handle.path);
  return handle.node->data.size();
}

void FaultyFileSystem::truncate_handle(int number, std::uint64_t bytes) {
  const std::lock_guard guard(mutex_);
  auto& handle = at(number);
  count_call("truncate", handle.path);
  handle.node->data.resize(bytes, '\0');
}

void FaultyFileSystem::sync_handle(int number) {
  const std::lock_guard guard(mutex_);
  auto& handle = at(number);
  count_call("sync", handle.path);
  handle.node->durable_data = handle.node->data;
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
