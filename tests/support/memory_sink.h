#pragma once
// A telemetry sink that keeps what it gets, for tests. Any thread.

#include <mutex>
#include <vector>

#include "leyline/telemetry/telemetry_packet.h"

namespace esper::test {

class MemorySink final : public leyline::TelemetrySink {
 public:
  void emit(const leyline::TelemetryPacket& packet) override {
    const std::scoped_lock lock(mutex_);
    packets_.push_back(packet);
  }
  std::vector<leyline::TelemetryPacket> packets() const {
    const std::scoped_lock lock(mutex_);
    return packets_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<leyline::TelemetryPacket> packets_;
};

}  // namespace esper::test
