#include "nissa/console_sink.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/parse_number.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::nissa {
namespace {

using namespace leyline::literals;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Colour colour_for(ConsoleStyle style) {
  return style == ConsoleStyle::kBar && environment("NO_COLOR").empty() ? Colour::kOn : Colour::kOff;
}

// 0 where the packet does not name it.
std::uint32_t epoch_of(const leyline::TelemetryPacket& packet) {
  const auto found = packet.system_health.indicators.find("epoch");
  if (found == packet.system_health.indicators.end()) return 0;
  return base::parse_number<std::uint32_t>(found->second).value_or(0);
}

}  // namespace

ConsoleStyle console_style(int descriptor) {
  const auto terminal = environment("TERM");
  const bool can_draw = isatty(descriptor) == 1 && !terminal.empty() && terminal != "dumb";
  return can_draw ? ConsoleStyle::kBar : ConsoleStyle::kPlain;
}

ConsoleSink::ConsoleSink(std::shared_ptr<const leyline::Progress> progress, base::TextOutlet& outlet,
                         ConsoleStyle style)
    : progress_(std::move(progress)), outlet_(outlet), colour_(colour_for(style)) {
  if (style == ConsoleStyle::kBar) bar_ = std::make_unique<ProgressBar>(progress_, outlet, colour_);
}

void ConsoleSink::emit(const leyline::TelemetryPacket& packet) {
  std::string text;
  if (const auto line = epoch_line(packet, progress_->epochs.load(std::memory_order_relaxed))) {
    text += *line + "\n";
    if (bar_) {
      bar_->set_result(epoch_of(packet), value_of(packet, "tolaria.training.loss"_metric),
                       value_of(packet, "tolaria.training.accuracy"_metric));
    }
  }
  for (const auto& event : packet.events) {
    if (const auto line = event_line(event, colour_)) text += *line + "\n";
  }
  if (text.empty()) return;
  const int error = bar_ ? bar_->print_above(text) : outlet_.write(text);
  if (error != 0) throw std::system_error(error, std::generic_category(), "console");
}

}  // namespace esper::nissa
