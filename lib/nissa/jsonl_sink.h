#pragma once
// telemetry.jsonl: one packet a line (line_file.h), in files of bounded size (telemetry_files.h).

#include <filesystem>
#include <string>
#include <system_error>

#include "base/quantity.h"
#include "leyline/telemetry/telemetry_packet.h"
#include "nissa/line_file.h"
#include "nissa/telemetry_files.h"

namespace esper::nissa {

// When the file was moved or deleted, the next packet makes a new one. In a pipe without a reader, or with one that
// takes longer than the deadline, packets are lost and counted by the hub. The pipe may get its reader later.
class JsonlSink final : public leyline::TelemetrySink {
 public:
  static constexpr base::Duration kWriteDeadline = std::chrono::seconds(1);
  using Target = LineFile::Target;

  // Throws base::Error{kResources} if the file can be neither opened nor made, storage::UnsafePath if it is refused.
  explicit JsonlSink(std::filesystem::path path, Target target = Target::kRegularFile,
                     base::Duration write_deadline = kWriteDeadline, TelemetryLimits limits = {});

  // One thread at a time. Throws std::system_error if the packet could not be written whole.
  void emit(const leyline::TelemetryPacket& packet) override;

 private:
  void begin_file_if_full(std::size_t next_bytes);
  void report_event(leyline::TelemetryEvent event);
  void report_undeleted(std::error_code failure);
  void report_dropped(const TelemetryDropped& dropped);

  LineFile file_;
  TelemetryLimits limits_;
  bool rotation_fails_ = false, deletion_fails_ = false, dropping_was_said_ = false;
  std::string line_;
};

}  // namespace esper::nissa
