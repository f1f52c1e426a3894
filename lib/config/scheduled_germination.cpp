#include "config/scheduled_germination.h"

#include <fmt/core.h>

#include <cstdint>

#include "base/text/printable.h"
#include "config/parse_number.h"
#include "config/slot_module.h"

namespace esper::config {

using base::in_quotes;

namespace {

constexpr char kExample[] = "write it like 2:r0c2=conv_light or 30%:r0c2=conv_light";

}  // namespace

base::Expected<ScheduledGermination> ScheduledGermination::parse(std::string_view text) {
  const auto colon = text.find(':');
  const auto time = text.substr(0, colon);
  const auto module = SlotModule::parse(colon == std::string_view::npos ? "" : text.substr(colon + 1));
  if (!module) return base::failure(fmt::format("{} is not time:slot=blueprint; {}", in_quotes(text), kExample));
  const bool is_percentage = time.ends_with('%');
  const auto number = parse_number<int>(is_percentage ? time.substr(0, time.size() - 1) : time);
  if (!number || *number < 1 || *number > (is_percentage ? 100 : kLastEpoch)) {
    return base::failure(fmt::format(
        "in {}, {} is neither an epoch, 1 to {}, nor a whole percentage of the run's epochs, 1% to 100%; {}",
        in_quotes(text), in_quotes(time), kLastEpoch, kExample));
  }
  ScheduledGermination line{0, 0, (*module).slot, (*module).blueprint};
  (is_percentage ? line.percent : line.epoch) = *number;
  return line;
}

int ScheduledGermination::due_epoch(int epochs) const {
  if (percent == 0) return epoch;
  return static_cast<int>((std::int64_t{percent} * epochs + 99) / 100);
}

}  // namespace esper::config
