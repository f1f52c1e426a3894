#pragma once
// telemetry.jsonl: one packet a line, each with one write(2) on an O_APPEND descriptor, in files of bounded size
// (telemetry_files.h).

#include <filesystem>
#include <string>
#include <system_error>

#include "base/descriptor.h"
#include "base/quantity.h"
#include "leyline/telemetry/telemetry_packet.h"
#include "nissa/telemetry_files.h"

namespace esper::nissa {

// A line that an earlier process did not finish is ended first, so that no later line is lost with it. The same holds
// for a line that this sink could write only in part (full disk, slow pipe). When the file was moved or deleted, the
// next packet makes a new one.
class JsonlSink final : public leyline::TelemetrySink {
 public:
  static constexpr base::Duration kWriteDeadline = std::chrono::seconds(1);
  enum class Target {
    kRegularFile,  // storage/beneath.h says what else is refused: links, pipes, files with several names
    kAnyFile,  // also a device, or a pipe: without a reader, or with one that takes longer than the deadline, packets
               // are lost and counted by the hub. The pipe may get its reader later
  };

  // Throws base::Error{kResources} if the file can be neither opened nor made, storage::UnsafePath if it is refused.
  explicit JsonlSink(std::filesystem::path path, Target target = Target::kRegularFile,
                     base::Duration write_deadline = kWriteDeadline, TelemetryLimits limits = {});

  // One thread at a time. Throws std::system_error if the packet could not be written whole.
  void emit(const leyline::TelemetryPacket& packet) override;

 private:
  int open_file();  // errno
  base::Descriptor opened(int flags) const;
  bool file_was_replaced() const;
  void write_line(std::string& line);
  void begin_file_if_full(std::size_t next_bytes);
  void report_event(leyline::TelemetryEvent event);
  void report_undeleted(std::error_code failure);
  void report_dropped(const TelemetryDropped& dropped);

  std::filesystem::path path_;
  Target target_;
  base::Duration write_deadline_;
  TelemetryLimits limits_;
  base::Descriptor file_;
  std::uint64_t file_bytes_ = 0;
  bool is_regular_ = false;  // else it is a pipe or a device, which is not rotated
  bool torn_ = false;        // the file ends within a line
  bool rotation_fails_ = false, deletion_fails_ = false, dropping_was_said_ = false;
  std::string line_;
};

}  // namespace esper::nissa
