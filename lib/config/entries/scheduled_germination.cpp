#include "config/entries/scheduled_germination.h"

#include <fmt/core.h>

#include "base/text/printable.h"
#include "config/entries/slot_module.h"

namespace esper::config {

using base::in_quotes;

namespace {

constexpr char kExample[] = "write it like 2:r0c2=conv_light or 30%:r0c2=conv_light";

}  // namespace

base::Expected<ScheduledGermination> ScheduledGermination::parse(std::string_view text) {
  const auto colon = text.find(':');
  const auto module = SlotModule::parse(colon == std::string_view::npos ? "" : text.substr(colon + 1));
  if (!module) return base::failure(fmt::format("{} is not time:slot=blueprint; {}", in_quotes(text), kExample));
  const auto time = EpochMark::parse(text.substr(0, colon));
  if (!time) return base::failure(fmt::format("in {}, {}; {}", in_quotes(text), time.error(), kExample));
  return ScheduledGermination{*time, (*module).slot, (*module).blueprint};
}

}  // namespace esper::config
