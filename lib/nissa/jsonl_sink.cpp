#include "nissa/jsonl_sink.h"

#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "leyline/telemetry/telemetry.h"
#include "nissa/json_line.h"
#include "nissa/log.h"

namespace esper::nissa {

using namespace leyline::literals;

JsonlSink::JsonlSink(std::filesystem::path path, Target target, base::Duration write_deadline, TelemetryLimits limits)
    : file_(std::move(path), target, write_deadline), limits_(limits) {
  const int error = file_.open();
  if (error == 0 || error == ENXIO) return;  // ENXIO: a pipe that nobody reads yet
  throw base::Error(base::ExitCode::kResources,
                    file_.path().string() + ": cannot write telemetry: " + std::generic_category().message(error) +
                        "; make the folder writable, or set telemetry.jsonl: false");
}

void JsonlSink::emit(const leyline::TelemetryPacket& packet) {
  if (base::fault::hit("nissa.sink_blocks")) {
    std::this_thread::sleep_for(file_.write_deadline());
    throw std::system_error(ETIMEDOUT, std::generic_category(), file_.path());
  }
  file_.ensure_open();
  line_.clear();
  append_json_line(packet, line_);
  begin_file_if_full(line_.size());
  file_.write(line_);
}

// A line longer than a whole file gets its own file. A file that cannot be renamed is written to as before, and a pipe
// or a device always.
void JsonlSink::begin_file_if_full(std::size_t next_bytes) {
  if (!file_.is_regular() || file_.bytes() == 0 || file_.bytes_with(next_bytes) <= limits_.file_bytes) return;
  TelemetryDropped dropped;
  if (const int error = rotate_telemetry(file_.path(), limits_, dropped); error != 0) {
    if (!std::exchange(rotation_fails_, true)) {
      log::warning(file_.path().string() + " exceeds telemetry.segment_mb because it cannot be renamed: " +
                   std::generic_category().message(error));
    }
    return;
  }
  rotation_fails_ = false;
  if (const int error = file_.open(); error != 0) throw std::system_error(error, std::generic_category(), file_.path());
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
  file_.write(line);
}

// In each file that begins: the earlier ones that say so may be deleted.
void JsonlSink::report_undeleted(std::error_code failure) {
  const bool failed_before = std::exchange(deletion_fails_, static_cast<bool>(failure));
  if (!failure) return;
  if (!failed_before) {
    log::warning("the oldest telemetry of " + file_.path().string() +
                 " cannot be deleted, and may exceed telemetry.limit_mb: " + failure.message());
  }
  report_event(
      leyline::event("nissa.telemetry_undeleted"_event, leyline::Level::kWarning, {{"reason", failure.message()}}));
}

void JsonlSink::report_dropped(const TelemetryDropped& dropped) {
  report_event(leyline::event("nissa.telemetry_dropped"_event, leyline::Level::kWarning,
                              {{"files", std::to_string(dropped.files)}, {"bytes", std::to_string(dropped.bytes)}}));
  if (std::exchange(dropping_was_said_, true)) return;
  log::warning("the oldest telemetry of " + file_.path().string() +
               " was deleted (telemetry.limit_mb); further deletions are reported in telemetry.jsonl only");
}

}  // namespace esper::nissa
