#include "history/black_box/black_box.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "history/require_run_folder.h"
#include "storage/confined_file_system.h"
#include "storage/file_tools.h"

namespace esper::history {
namespace {

using base::Error;
using base::ExitCode;
using storage::Bytes;

constexpr std::size_t kRecordBytes = sizeof(BlackBoxRecord);

bool is_known(BlackBoxKind kind) {
  return kind == BlackBoxKind::kStep || kind == BlackBoxKind::kEpochEnd || kind == BlackBoxKind::kEvent;
}

base::Expected<void> check_header(Bytes bytes) {
  BlackBoxHeader header;
  if (bytes.size() < sizeof header) return base::failure("it is too short");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != BlackBoxHeader{}.magic) return base::failure("it does not begin with ESPBBOX");
  if (header.version != BlackBoxHeader{}.version)
    return base::failure(fmt::format("it is of version {}, not {}", header.version, BlackBoxHeader{}.version));
  if (header != BlackBoxHeader{}) return base::failure("its first bytes are damaged");
  if (bytes.size() != kBlackBoxBytes)
    return base::failure(fmt::format("it has {} bytes, not {}", bytes.size(), kBlackBoxBytes));
  return {};
}

}  // namespace

base::Expected<BlackBox> parse_black_box(Bytes bytes) {
  if (const auto header = check_header(bytes); !header) return base::failure(header.error());
  BlackBox box;
  for (std::uint64_t place = 0; place < kBlackBoxCapacity; ++place) {
    BlackBoxRecord record;
    const auto slot = bytes.subspan((place + 1) * kRecordBytes, kRecordBytes);
    std::memcpy(static_cast<void*>(&record), slot.data(), kRecordBytes);
    if (std::ranges::all_of(slot, [](std::byte byte) { return byte == std::byte{0}; })) continue;
    const bool sound = record.number > 0 && black_box_place(record.number) == place &&
                       black_box_check(record) == record.check && is_known(record.kind);
    if (sound) {
      box.records.push_back(record);
    } else {
      ++box.torn;
    }
  }
  std::ranges::sort(box.records, {}, &BlackBoxRecord::number);
  return box;
}

namespace {

base::Expected<BlackBox> parse(base::FileSystem& files, const std::string& path) {
  try {
    return parse_black_box(storage::read_file(files, path, kBlackBoxBytes));
  } catch (const base::IoError& error) {
    if (error.error_number() == EFBIG) return base::failure("it is too long");
    throw;
  }
}

Error missing(const std::string& run) {
  return Error(ExitCode::kConfig, run +
                                      " has no black box: the run is of an earlier version, or could not make one "
                                      "(tolaria.blackbox_off in its telemetry); continue it with esper train "
                                      "--resume " +
                                      run);
}

}  // namespace

BlackBox read_black_box(const std::string& run) {
  storage::ConfinedFileSystem files(run, storage::Owner::kAnyone);
  require_run_folder(files, run);
  const std::string path = run + "/" + kBlackBoxFile;
  if (files.kind_of(path) == base::PathKind::kNothing) throw missing(run);
  auto box = parse(files, path);
  if (!box && files.open(path, base::OpenMode::kRead).size() == 0) throw missing(run);
  if (!box)
    throw Error(ExitCode::kData, path + " is not a black box: " + box.error() + "; a resumed run starts a new one");
  return std::move(*box);
}

void keep_last(BlackBox& box, std::size_t last) {
  if (last == 0 || box.records.size() <= last) return;
  box.records.erase(box.records.begin(), box.records.end() - static_cast<std::ptrdiff_t>(last));
}

}  // namespace esper::history
