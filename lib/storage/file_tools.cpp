#include "storage/file_tools.h"

#include <fmt/core.h>

#include "storage/beneath.h"

namespace esper::storage {

using base::FileSystem;
using base::IoError;
using base::PathKind;

std::string parent_of(const std::string& path) {
  const auto end = path.find_last_not_of('/');
  const auto slash = end == std::string::npos ? end : path.find_last_of('/', end);
  if (slash == std::string::npos) return path.starts_with('/') ? "/" : ".";
  const auto last = path.find_last_not_of('/', slash);
  return last == std::string::npos ? "/" : path.substr(0, last + 1);
}

std::vector<std::byte> read_file(FileSystem& file_system, const std::string& path, std::uint64_t max_bytes) {
  auto file = file_system.open(path, base::OpenMode::kRead);
  const std::uint64_t size = file.size();
  if (size > max_bytes) throw IoError("read", path, EFBIG);
  std::vector<std::byte> contents(size);
  contents.resize(file.read_at(0, contents));
  return contents;
}

void ensure_folder(FileSystem& file_system, const std::string& path) {
  if (file_system.kind_of(path) == PathKind::kFolder) return;
  const std::string parent = parent_of(path);
  if (parent != path) ensure_folder(file_system, parent);
  try {
    file_system.make_folder(path);
  } catch (const IoError& error) {
    if (error.error_number() != EEXIST) throw;
    if (file_system.kind_of(path) != PathKind::kFolder) {  // else another process was faster
      file_system.list(path);                              // throws what lies there instead of a folder
      throw;
    }
  }
  file_system.sync_folder(parent);
}

void remove_all(FileSystem& file_system, const std::string& path) {
  try {
    file_system.remove(path);
    return;
  } catch (const IoError& error) {
    if (error.error_number() == ENOENT) return;
    if (error.error_number() != ENOTEMPTY && error.error_number() != EEXIST) {
      // On a read-only file system, or in a folder that may not be written to, removing nothing fails, too.
      if (file_system.kind_of(path) == base::PathKind::kNothing) return;
      throw;
    }
  }
  for (const auto& entry : file_system.list(path)) remove_all(file_system, path + "/" + entry.name);
  file_system.remove(path);
}

std::string free_name(FileSystem& file_system, const std::string& path) {
  const auto is_taken = [&](const std::string& name) {
    try {
      return file_system.kind_of(name) != PathKind::kNothing;
    } catch (const UnsafePath&) {  // a link, say
      return true;
    }
  };
  std::string name = path;
  for (int i = 2; is_taken(name); ++i) name = fmt::format("{}-{}", path, i);
  return name;
}

}  // namespace esper::storage
