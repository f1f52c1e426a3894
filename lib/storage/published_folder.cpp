#include "storage/published_folder.h"

#include <fmt/core.h>

#include <vector>

#include "storage/checksum.h"
#include "storage/file_tools.h"

namespace esper::storage {
namespace {

using base::Expected;
using base::FileSystem;
using base::IoError;

constexpr std::size_t kChunkBytes = 1 << 20;

// That the file is what the manifest says. Bounded memory: the file is read in chunks.
Expected<void, ReadFailure> check_file(FileSystem& file_system, const std::string& folder,
                                       const ManifestFile& expected) {
  auto file = file_system.open(folder + "/" + expected.name, base::OpenMode::kRead);
  const std::uint64_t size = file.size();
  if (size != expected.bytes) {
    return damaged(fmt::format("{} has {} bytes, the manifest says {}", expected.name, size, expected.bytes));
  }
  Hash64 hash;
  std::vector<std::byte> chunk(std::min<std::uint64_t>(size, kChunkBytes));
  for (std::uint64_t offset = 0; offset < size;) {
    const std::size_t got = file.read_at(offset, chunk);
    if (got == 0) return damaged(expected.name + " ends early");
    hash.update(Bytes(chunk).first(got));
    offset += got;
  }
  if (hex64(hash.digest()) != expected.xxh3_64) return damaged(expected.name + " is damaged: its hash is wrong");
  return {};
}

}  // namespace

bool is_of_the_file(const IoError& error) {
  switch (error.error_number()) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EINVAL:
    case EFBIG:
    case EIO:
    case EACCES:
    case EPERM:
    case ELOOP:
      return true;
    default:
      return false;
  }
}

Expected<Manifest, ReadFailure> verify_folder(FileSystem& file_system, const std::string& folder) {
  try {
    const auto bytes = read_file(file_system, folder + "/" + kManifestName, kMaxManifestBytes);
    auto manifest = parse_manifest(std::string(text_of(bytes)));
    if (!manifest) return manifest;
    for (const auto& file : manifest->files) {
      if (const auto whole = check_file(file_system, folder, file); !whole) return base::failure(whole.error());
    }
    return manifest;
  } catch (const IoError& error) {
    if (!is_of_the_file(error)) throw;
    return unreadable(error.what());
  }
}

std::string quarantine(FileSystem& file_system, const std::string& path, const std::string& ending) {
  std::string target = free_name(file_system, path + ending);
  file_system.rename(path, target);
  file_system.sync_folder(parent_of(path));
  return target;
}

}  // namespace esper::storage
