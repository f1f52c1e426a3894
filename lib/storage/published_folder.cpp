#include "storage/published_folder.h"

#include <vector>

#include "storage/checksum.h"
#include "storage/file_tools.h"

namespace esper::storage {
namespace {

using base::FileSystem;
using base::IoError;

constexpr std::size_t kChunkBytes = 1 << 20;

// Empty if the file is what the manifest says; else how it is damaged. Bounded memory: the file is read in chunks.
std::string problem_with(FileSystem& file_system, const std::string& folder, const ManifestFile& expected) {
  auto file = file_system.open(folder + "/" + expected.name, base::OpenMode::kRead);
  const std::uint64_t size = file.size();
  if (size != expected.bytes) {
    return expected.name + " has " + std::to_string(size) + " bytes, the manifest says " +
           std::to_string(expected.bytes);
  }
  Hash64 hash;
  std::vector<std::byte> chunk(std::min<std::uint64_t>(size, kChunkBytes));
  for (std::uint64_t offset = 0; offset < size;) {
    const std::size_t got = file.read_at(offset, chunk);
    if (got == 0) return expected.name + " ends early";
    hash.update(Bytes(chunk).first(got));
    offset += got;
  }
  return hex64(hash.digest()) == expected.xxh3_64 ? std::string() : expected.name + " is damaged: its hash is wrong";
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

Checked<Manifest> verify_folder(FileSystem& file_system, const std::string& folder) {
  try {
    const auto bytes = read_file(file_system, folder + "/" + kManifestName, kMaxManifestBytes);
    auto manifest = parse_manifest(std::string(text_of(bytes)));
    if (!manifest) return manifest;
    for (const auto& file : manifest->files) {
      auto problem = problem_with(file_system, folder, file);
      if (!problem.empty()) return damaged<Manifest>(std::move(problem));
    }
    return manifest;
  } catch (const IoError& error) {
    if (!is_of_the_file(error)) throw;
    return unreadable<Manifest>(error.what());
  }
}

std::string quarantine(FileSystem& file_system, const std::string& path, const std::string& ending) {
  std::string target = free_name(file_system, path + ending);
  file_system.rename(path, target);
  file_system.sync_folder(parent_of(path));
  return target;
}

}  // namespace esper::storage
