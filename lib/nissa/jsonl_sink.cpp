#include "nissa/jsonl_sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/text/timed_write.h"
#include "leyline/telemetry/telemetry.h"
#include "nissa/json_line.h"
#include "nissa/log.h"

namespace esper::nissa {

using base::Descriptor;
using namespace leyline::literals;

namespace {

// Whether a file of that size ends within a line.
bool ends_within_line(const Descriptor& reader, off_t size) {
  char last = '\n';
  return pread(reader.number(), &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

JsonlSink::JsonlSink(std::filesystem::path path, Target target, base::Duration write_deadline, TelemetryLimits limits)
    : path_(std::move(path)), target_(target), write_deadline_(write_deadline), limits_(limits) {
  const int error = open_file();
  if (error == 0 || error == ENXIO) return;  // ENXIO: a pipe that nobody reads yet
  throw base::Error(base::ExitCode::kResources,
                    path_.string() + ": cannot write telemetry: " + std::generic_category().message(error) +
                        "; make the folder writable, or set telemetry.jsonl: false");
}

void JsonlSink::emit(const leyline::TelemetryPacket& packet) {
  if (base::fault::hit("nissa.sink_blocks")) {
    std::this_thread::sleep_for(write_deadline_);
    throw std::system_error(ETIMEDOUT, std::generic_category(), path_);
  }
  if (!file_.is_open() || file_was_replaced()) {
    if (const int error = open_file(); error != 0) throw std::system_error(error, std::generic_category(), path_);
  }
  line_.clear();
  append_json_line(packet, line_);
  begin_file_if_full(line_.size());
  write_line(line_);
}

void JsonlSink::write_line(std::string& line) {
  if (torn_) line.insert(line.begin(), '\n');
  const auto result = base::write_all(file_.number(), line, write_deadline_);
  file_bytes_ += result.written;
  if (result.written > 0) torn_ = line[result.written - 1] != '\n';
  if (result.error != 0) throw std::system_error(result.error, std::generic_category(), path_);
}

// Non-blocking matters for pipes only: neither open nor write may wait for a reader without end.
Descriptor JsonlSink::opened(int flags) const {
  if (target_ == Target::kAnyFile) return Descriptor(open(path_.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0644));
  return open_telemetry(path_, flags);
}

// A line longer than a whole file gets its own file. A file that cannot be renamed is written to as before.
void JsonlSink::begin_file_if_full(std::size_t next_bytes) {
  if (!is_regular_ || file_bytes_ == 0 || file_bytes_ + torn_ + next_bytes <= limits_.file_bytes) return;
  TelemetryDropped dropped;
  if (const int error = rotate_telemetry(path_, limits_, dropped); error != 0) {
    if (!std::exchange(rotation_fails_, true)) {
      log::warning(path_.string() + " exceeds telemetry.segment_mb because it cannot be renamed: " +
                   std::generic_category().message(error));
    }
    return;
  }
  rotation_fails_ = false;
  if (const int error = open_file(); error != 0) throw std::system_error(error, std::generic_category(), path_);
  report_undeleted(dropped.failure);
  if (dropped.files > 0) report_dropped(dropped);
}

void JsonlSink::report_event(leyline::TelemetryEvent event) {
  leyline::TelemetryPacket packet;
  packet.packet_id = "nissa-telemetry-files";
  packet.timestamp = base::rfc3339(base::Clock().wall());
  packet.source_subsystem = "nissa";
  packet.level = event.level;
  packet.events.push_back(std::move(event));
  std::string line;
  append_json_line(packet, line);
  write_line(line);
}

// In each file that begins: the earlier ones that say so may be deleted.
void JsonlSink::report_undeleted(std::error_code failure) {
  const bool failed_before = std::exchange(deletion_fails_, static_cast<bool>(failure));
  if (!failure) return;
  if (!failed_before) {
    log::warning("the oldest telemetry of " + path_.string() +
                 " cannot be deleted, and may exceed telemetry.limit_mb: " + failure.message());
  }
  report_event(
      leyline::event("nissa.telemetry_undeleted"_event, leyline::Level::kWarning, {{"reason", failure.message()}}));
}

void JsonlSink::report_dropped(const TelemetryDropped& dropped) {
  report_event(leyline::event("nissa.telemetry_dropped"_event, leyline::Level::kWarning,
                              {{"files", std::to_string(dropped.files)}, {"bytes", std::to_string(dropped.bytes)}}));
  if (std::exchange(dropping_was_said_, true)) return;
  log::warning("the oldest telemetry of " + path_.string() +
               " was deleted (telemetry.limit_mb); further deletions are reported in telemetry.jsonl only");
}

int JsonlSink::open_file() {
  std::error_code ignored;  // opened() says what is wrong
  if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), ignored);
  Descriptor file = opened(O_WRONLY | O_CREAT | O_APPEND);
  if (!file.is_open()) return errno;
  struct stat facts{};
  if (fstat(file.number(), &facts) != 0) return errno;
  file_ = std::move(file);
  file_bytes_ = static_cast<std::uint64_t>(facts.st_size);
  is_regular_ = S_ISREG(facts.st_mode);
  torn_ = is_regular_ && facts.st_size > 0 && ends_within_line(opened(O_RDONLY), facts.st_size);
  return 0;
}

bool JsonlSink::file_was_replaced() const {
  struct stat named{}, held{};
  if (lstat(path_.c_str(), &named) != 0) return true;
  return fstat(file_.number(), &held) != 0 || named.st_ino != held.st_ino || named.st_dev != held.st_dev;
}

}  // namespace esper::nissa
