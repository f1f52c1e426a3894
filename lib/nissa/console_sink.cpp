#include "nissa/console_sink.h"

#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "leyline/telemetry.h"
#include "nissa/descriptor.h"

namespace esper::nissa {
namespace {

using namespace leyline::literals;

constexpr leyline::Duration kWriteDeadline = std::chrono::seconds(1);

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Colour colour_for(ConsoleStyle style) {
  return style == ConsoleStyle::kBar && environment("NO_COLOR").empty() ? Colour::kOn : Colour::kOff;
}

}  // namespace

ConsoleStyle console_style(int descriptor) {
  const auto terminal = environment("TERM");
  const bool can_draw = isatty(descriptor) == 1 && !terminal.empty() && terminal != "dumb";
  return can_draw ? ConsoleStyle::kBar : ConsoleStyle::kPlain;
}

ConsoleSink::ConsoleSink(std::shared_ptr<const leyline::Progress> progress, int descriptor, ConsoleStyle style)
    : progress_(std::move(progress)), descriptor_(descriptor), colour_(colour_for(style)) {
  if (style == ConsoleStyle::kBar) bar_ = std::make_unique<ProgressBar>(progress_, descriptor, colour_);
}

void ConsoleSink::emit(const leyline::TelemetryPacket& packet) {
  std::string text;
  if (const auto line = epoch_line(packet, progress_->epochs.load(std::memory_order_relaxed))) {
    text += *line + "\n";
    if (bar_) {
      bar_->set_result(value_of(packet, "tolaria.training.loss"_metric),
                       value_of(packet, "tolaria.training.accuracy"_metric));
    }
  }
  for (const auto& event : packet.events) {
    if (const auto line = event_line(event, colour_)) text += *line + "\n";
  }
  if (text.empty()) return;
  if (bar_) return bar_->print_above(text);
  const auto result = write_all(descriptor_, text, kWriteDeadline);
  if (result.error != 0) throw std::system_error(result.error, std::generic_category(), "console");
}

}  // namespace esper::nissa
