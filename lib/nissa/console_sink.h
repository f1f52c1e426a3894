#pragma once
// Telemetry for a person who watches: a progress bar on a terminal, plain lines elsewhere.

#include <memory>

#include "base/text/text_outlet.h"
#include "leyline/progress.h"
#include "leyline/telemetry/telemetry_packet.h"
#include "nissa/console_text.h"
#include "nissa/progress_bar.h"

namespace esper::nissa {

enum class ConsoleStyle {
  kPlain,  // one line an epoch, one line a noteworthy event
  kBar,    // the same lines above a progress bar
};

// A bar where the descriptor is a terminal that can move its cursor (TERM is set and not "dumb"), plain lines
// elsewhere.
ConsoleStyle console_style(int descriptor);

class ConsoleSink final : public leyline::TelemetrySink {
 public:
  // outlet: usually base::standard_error(); it outlives the sink. A bar has colours unless NO_COLOR is set and not
  // empty.
  ConsoleSink(std::shared_ptr<const leyline::Progress> progress, base::TextOutlet& outlet, ConsoleStyle style);

  // One thread at a time. Throws std::system_error if the text could not be written.
  void emit(const leyline::TelemetryPacket& packet) override;

 private:
  const std::shared_ptr<const leyline::Progress> progress_;
  base::TextOutlet& outlet_;
  const Colour colour_;
  std::unique_ptr<ProgressBar> bar_;
};

}  // namespace esper::nissa
