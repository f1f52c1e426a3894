#include "esper/setting_text.h"

namespace esper {

std::string setting_text(const std::vector<history::FieldChange>& changes, SettingHolds from) {
  if (changes.empty()) return "nothing changes: the run has these settings, or they are requested already\n";
  std::string text;
  for (const auto& change : changes) text += change.field + ": " + change.before + " -> " + change.after + "\n";
  text += from == SettingHolds::kFromEndOfEpoch ? "requested; it takes effect at the end of the running epoch\n"
                                                : "requested; no process trains this run now: it takes effect with the "
                                                  "first epoch that begins after the run is resumed\n";
  return text;
}

}  // namespace esper
