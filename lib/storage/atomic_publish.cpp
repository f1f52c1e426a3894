#include "storage/atomic_publish.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <string_view>

#include "base/error.h"
#include "base/fault.h"
#include "base/parse_number.h"
#include "storage/checksum.h"
#include "storage/file_tools.h"

namespace esper::storage {
namespace {

using base::FileSystem;
using base::IoError;
using base::OpenMode;
using base::PathKind;

constexpr std::string_view kTemporary = ".tmp-";
constexpr std::size_t kMostBuffered = 64 << 10;

std::string temporary_name(const std::string& path) { return fmt::format("{}{}{}", path, kTemporary, ::getpid()); }

// Best effort, on the remedy with another error: what stays is removed by remove_leftovers.
void discard(FileSystem& file_system, const std::string& temporary) {
  try {
    remove_all(file_system, temporary);
  } catch (const IoError&) {
  }
}

// Written, and not yet durable. Small pieces, as those of a network's many small tensors, are written together.
ManifestFile write_to(base::File& file, const WriteContents& write_contents) {
  Hash64 hash;
  std::uint64_t total = 0;
  std::vector<std::byte> small_pieces;
  const auto write_small_pieces = [&] {
    if (!small_pieces.empty()) file.write(small_pieces);
    small_pieces.clear();
  };
  write_contents([&](Bytes bytes) {
    hash.update(bytes);
    total += bytes.size();
    if (small_pieces.size() + bytes.size() > kMostBuffered) write_small_pieces();
    if (bytes.size() > kMostBuffered) return file.write(bytes);
    small_pieces.insert(small_pieces.end(), bytes.begin(), bytes.end());
  });
  write_small_pieces();
  return {file.path().substr(file.path().find_last_of('/') + 1), total, hex64(hash.digest())};
}

void make_durable(base::File& file) {
  file.sync();
  file.close();
}

WriteContents contents_of(Bytes bytes) {
  return [bytes](const ByteSink& sink) { sink(bytes); };
}

Manifest fill_folder(FileSystem& file_system, const std::string& folder, const std::vector<FolderFile>& files,
                     const nlohmann::json& fields) {
  Manifest manifest;
  manifest.fields = fields;
  std::vector<base::File> written;
  const auto write = [&](const std::string& name, const WriteContents& write_contents) {
    written.push_back(file_system.open(folder + "/" + name, OpenMode::kReplace));
    return write_to(written.back(), write_contents);
  };
  for (const auto& file : files) {
    ESPER_CHECK(is_plain_name(file.name) && file.name != kManifestName, "a published file needs a plain name");
    manifest.files.push_back(write(file.name, file.write_contents));
  }
  const std::string text = manifest_text(manifest);
  write(kManifestName, contents_of(bytes_of(text)));
  // The file system takes them to the disk together.
  for (auto& file : written) file.start_sync();
  for (auto& file : written) make_durable(file);
  file_system.sync_folder(folder);
  return manifest;
}

// "x.tmp-4711": the name that it was to get, and the process that it belongs to; 0 for any other name.
struct Leftover {
  std::string_view final_name;
  pid_t owner = 0;
};

Leftover leftover_of(std::string_view name) {
  const auto at = name.rfind(kTemporary);
  if (at == std::string_view::npos) return {};
  const auto pid = base::parse_number<pid_t>(name.substr(at + kTemporary.size()));
  return pid && *pid > 0 ? Leftover{name.substr(0, at), *pid} : Leftover{};
}

bool is_gone(pid_t pid) { return ::kill(pid, 0) < 0 && errno == ESRCH; }

std::vector<std::string> remove_leftovers_if(FileSystem& file_system, const std::string& folder,
                                             const std::function<bool(const Leftover&)>& removable) {
  std::vector<std::string> removed;
  for (const auto& entry : file_system.list(folder)) {
    const auto leftover = leftover_of(entry.name);
    if (leftover.owner == 0 || !removable(leftover)) continue;
    remove_all(file_system, folder + "/" + entry.name);
    removed.push_back(entry.name);
  }
  return removed;
}

}  // namespace

void publish_file(FileSystem& file_system, const std::string& path, Bytes contents) {
  publish_file(file_system, path, contents_of(contents));
}

void publish_file(FileSystem& file_system, const std::string& path, const WriteContents& write_contents) {
  const std::string temporary = temporary_name(path);
  try {
    auto file = file_system.open(temporary, OpenMode::kReplace);
    write_to(file, write_contents);
    make_durable(file);
    file_system.rename(temporary, path);
  } catch (...) {
    discard(file_system, temporary);
    throw;
  }
  file_system.sync_folder(parent_of(path));
}

Manifest publish_folder(FileSystem& file_system, const std::string& path, const std::vector<FolderFile>& files,
                        const nlohmann::json& fields) {
  if (base::fault::hit("storage.publish")) throw base::IoError("write", path, ENOSPC);
  // rename would silently replace an empty folder.
  if (file_system.kind_of(path) != PathKind::kNothing) throw IoError("publish", path, EEXIST);
  const std::string temporary = temporary_name(path);
  Manifest manifest;
  try {
    remove_all(file_system, temporary);
    file_system.make_folder(temporary);
    manifest = fill_folder(file_system, temporary, files, fields);
    file_system.rename(temporary, path);
  } catch (...) {
    discard(file_system, temporary);
    throw;
  }
  file_system.sync_folder(parent_of(path));
  return manifest;
}

void remove_published(FileSystem& file_system, const std::string& path) {
  if (file_system.kind_of(path) == PathKind::kNothing) return;
  const std::string temporary = temporary_name(path);
  remove_all(file_system, temporary);
  file_system.rename(path, temporary);
  file_system.sync_folder(parent_of(path));
  remove_all(file_system, temporary);
}

std::vector<std::string> remove_leftovers(FileSystem& file_system, const std::string& folder) {
  return remove_leftovers_if(file_system, folder, [](const Leftover& leftover) {
    return leftover.owner == ::getpid() || is_gone(leftover.owner);
  });
}

std::vector<std::string> remove_leftovers_under_lock(FileSystem& file_system, const std::string& folder,
                                                     const std::function<bool(std::string_view)>& is_ours) {
  return remove_leftovers_if(file_system, folder,
                             [&](const Leftover& leftover) { return is_ours(leftover.final_name); });
}

}  // namespace esper::storage
