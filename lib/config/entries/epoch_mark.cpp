#include "config/entries/epoch_mark.h"

#include <fmt/core.h>

#include <cstdint>

#include "base/parse_number.h"
#include "base/text/printable.h"

namespace esper::config {

base::Expected<EpochMark> EpochMark::parse(std::string_view text) {
  const bool is_percentage = text.ends_with('%');
  const auto number = base::parse_number<int>(is_percentage ? text.substr(0, text.size() - 1) : text);
  if (!number || *number < 1 || *number > (is_percentage ? 100 : kLastEpoch)) {
    return base::failure(
        fmt::format("{} is neither an epoch, 1 to {}, nor a whole percentage of the run's epochs, 1% to 100%",
                    base::in_quotes(text), kLastEpoch));
  }
  EpochMark mark;
  (is_percentage ? mark.percent : mark.epoch) = *number;
  return mark;
}

int EpochMark::due_epoch(int epochs) const {
  if (percent == 0) return epoch;
  return static_cast<int>((std::int64_t{percent} * epochs + 99) / 100);
}

}  // namespace esper::config
