#pragma once
// Follows the telemetry of a run while it is written. One thread.

#include <cstdint>
#include <functional>
#include <string>

#include "base/descriptor.h"
#include "base/quantity.h"
#include "leyline/telemetry/telemetry_packet.h"

namespace esper {

class TelemetryFollower {
 public:
  // Of a run folder that may not be there yet.
  explicit TelemetryFollower(std::string run_dir);

  using OnPacket = std::function<void(const leyline::TelemetryPacket&)>;
  // What was written since the last call, also in a file that the run began meanwhile. The first call that finds a file
  // gives the newest packet about an epoch and what came after it, as far as the file's end has them.
  void read(const OnPacket& on_packet);

  // Waits until read() may have more, `other` is readable or the time has passed; -1: no such descriptor. False: the
  // time has passed. The wait that begins to watch the folder returns at once: what was written before shows in no
  // change. While there is no folder a wait takes a moment at most, and the next one looks for it again.
  bool wait(int other, base::Duration longest);

 private:
  bool watch_folder();
  void take_changes();
  bool open_file();
  bool file_was_replaced() const;
  void skip_to_end();
  void read_file(const OnPacket& on_packet);
  void take_line(const OnPacket& on_packet);

  const std::string run_dir_, path_;
  base::Descriptor changes_, file_;
  std::string line_;
  bool skips_line_ = false;  // the one that reading began within
  bool is_first_ = true;
};

}  // namespace esper
