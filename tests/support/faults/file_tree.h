#pragma once
// What a disk holds, twice: as programs see it now, and as it is after a power loss.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace esper::test {

struct FileNode;
using FileNodePointer = std::shared_ptr<FileNode>;
using FileEntries = std::map<std::string, FileNodePointer>;
using EntryChanges = std::vector<std::pair<std::string, FileNodePointer>>;  // a null node is a removal

struct FileNode {
  bool is_folder = false;
  bool locked = false;
  std::string data, durable_data;
  std::set<std::size_t> dropped_pages;  // of `data`: not on the disk, and no sync writes them unless they change
  FileEntries entries, durable_entries;
};

enum class PowerLoss {
  kDropAll,      // nothing that was not synced is there
  kKeepEntries,  // all names and lengths are there, contents that were not synced are zeros (a journalling file system)
  kReorder,      // each change of a folder and each file independently made it, or not, or in part
};

inline std::vector<std::string> parts_of(const std::string& path) {
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

// Null if there is nothing.
inline FileNodePointer find_node(FileNodePointer node, const std::vector<std::string>& parts) {
  for (const auto& part : parts) {
    const auto entry = node->entries.find(part);
    if (entry == node->entries.end()) return nullptr;
    node = entry->second;
  }
  return node;
}

inline void apply_changes(FileEntries& entries, const EntryChanges& changes) {
  for (const auto& [name, node] : changes) {
    if (node) {
      entries[name] = node;
    } else {
      entries.erase(name);
    }
  }
}

inline std::uint64_t bytes_in(const FileNode& node) {
  std::uint64_t total = node.data.size();
  for (const auto& [name, child] : node.entries) total += bytes_in(*child);
  return total;
}

// What a power loss may leave of a file: all, nothing new, or its length with the last written part zero.
inline std::string torn(const std::string& durable, const std::string& current, std::mt19937_64& random) {
  switch (random() % 3) {
    case 0:
      return durable;
    case 1:
      return current;
    default: {
      std::string result = current;
      const auto common = static_cast<std::size_t>(
          std::mismatch(durable.begin(), durable.end(), current.begin(), current.end()).first - durable.begin());
      const std::size_t kept = common + (current.size() > common ? random() % (current.size() - common) : 0);
      std::fill(result.begin() + static_cast<std::ptrdiff_t>(kept), result.end(), '\0');
      return result;
    }
  }
}

inline std::string with_zeros(const std::string& durable, const std::string& current) {
  std::string result = current;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (i >= durable.size() || durable[i] != current[i]) result[i] = '\0';
  }
  return result;
}

inline constexpr std::size_t kPageBytes = 4096;

// A sync that fails: what it did not write counts as written.
inline void drop_unsynced_pages(FileNode& node) {
  const auto page_of = [](std::string_view text, std::size_t begin) {
    return text.substr(std::min(begin, text.size()), kPageBytes);
  };
  for (std::size_t begin = 0; begin < node.data.size(); begin += kPageBytes) {
    if (page_of(node.data, begin) != page_of(node.durable_data, begin)) node.dropped_pages.insert(begin / kPageBytes);
  }
}

// These bytes change, so the pages that they are in are written by the next sync.
inline void change_pages(FileNode& node, std::size_t begin, std::size_t end) {
  node.dropped_pages.erase(node.dropped_pages.lower_bound(begin / kPageBytes),
                           node.dropped_pages.lower_bound((end + kPageBytes - 1) / kPageBytes));
}

inline std::string synced(const FileNode& node) {
  std::string result = node.data;
  for (const auto page : node.dropped_pages) {
    const auto end = std::min((page + 1) * kPageBytes, result.size());
    for (auto i = page * kPageBytes; i < end; ++i) {
      result[i] = i < node.durable_data.size() ? node.durable_data[i] : '\0';
    }
  }
  return result;
}

// Makes node and all that is durably in it what a power loss leaves of them.
inline void recover(FileNode& node, PowerLoss what, std::mt19937_64& random) {
  if (what == PowerLoss::kKeepEntries) node.durable_data = with_zeros(node.durable_data, node.data);
  if (what == PowerLoss::kReorder) node.durable_data = torn(node.durable_data, node.data, random);
  node.data = node.durable_data;
  node.dropped_pages.clear();
  node.entries = node.durable_entries;
  for (auto& [name, child] : node.entries) recover(*child, what, random);
}

}  // namespace esper::test
