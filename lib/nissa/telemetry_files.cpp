#include "nissa/telemetry_files.h"

#include <algorithm>
#include <cstdio>
#include <system_error>

#include "storage/beneath.h"
#include "storage/numbered_name.h"

namespace esper::nissa {

using base::Descriptor;

namespace {

namespace fs = std::filesystem;

storage::NumberedName names_of(const fs::path& path) { return {path.stem().string(), path.extension().string()}; }

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

}  // namespace

std::vector<EarlierTelemetry> earlier_telemetry(const fs::path& path) {
  std::error_code ignored;
  return earlier_telemetry(path, ignored);
}

std::vector<EarlierTelemetry> earlier_telemetry(const fs::path& path, std::error_code& failure) {
  std::vector<EarlierTelemetry> found;
  const auto names = names_of(path);
  fs::directory_iterator entry(folder_of(path), failure);
  for (const fs::directory_iterator end; !failure && entry != end; entry.increment(failure)) {
    const auto number = names.number_of(entry->path().filename().string());
    std::error_code gone;
    if (number == 0) continue;
    // What is no file has a number all the same: it is refused when it is read, and not replaced.
    const bool is_file = fs::is_regular_file(entry->symlink_status(gone));
    const auto bytes = is_file ? entry->file_size(gone) : 0;
    if (!gone) found.push_back({number, entry->path(), bytes, is_file});
  }
  std::ranges::sort(found, {}, &EarlierTelemetry::number);
  return found;
}

Descriptor open_telemetry(const fs::path& path, int flags) {
  const fs::path folder = folder_of(path);
  try {
    return storage::Beneath(folder.string(), storage::Owner::kAnyone)
        .open_file((folder / path.filename()).string(), flags);
  } catch (const storage::UnsafePath&) {
    throw;
  } catch (const base::IoError& error) {
    errno = error.error_number();
    return Descriptor();
  }
}

bool has_telemetry(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored)) || !earlier_telemetry(path).empty();
}

int rotate_telemetry(const fs::path& path, const TelemetryLimits& limits, TelemetryDropped& dropped) {
  std::error_code failure;
  const auto earlier = earlier_telemetry(path, failure);
  if (failure) return failure.value();  // a number that is taken would replace its file
  const std::uint64_t number = earlier.empty() ? 1 : earlier.back().number + 1;
  const fs::path target = folder_of(path) / names_of(path).of(number);
  if (std::rename(path.c_str(), target.c_str()) != 0) return errno;
  if (limits.total_bytes == 0) return 0;
  std::error_code error;
  const auto newest_bytes = fs::file_size(target, error);
  std::uint64_t total = limits.file_bytes + (error ? 0 : newest_bytes);
  for (const auto& file : earlier) total += file.bytes;
  for (const auto& file : earlier) {
    if (total <= limits.total_bytes) break;
    if (!file.is_file) continue;
    const bool removed = fs::remove(file.path, error);
    if (error) dropped.failure = error;
    if (!removed) continue;
    total -= file.bytes;
    ++dropped.files;
    dropped.bytes += file.bytes;
  }
  return 0;
}

}  // namespace esper::nissa
