#include "esper/setting_text.h"

namespace esper {

std::string setting_text(const std::vector<history::FieldChange>& changes, SettingHolds from) {
  if (changes.empty()) return "nothing changes: the run has these settings, or they are requested already\n";
  std::string text;
  for (const auto& change : changes) text += change.field + ": " + change.before + " -> " + change.after + "\n";
  text += from == SettingHolds::kFromEndOfEpoch ? "requested; it holds from the end of the running epoch on\n"
                                                : "requested; nobody trains this run now: it holds from the first "
                                                  "epoch that begins when the run is resumed\n";
  return text;
}

}  // namespace esper
