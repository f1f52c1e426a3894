#pragma once
// What `esper set` and `esper job set` print. Pure functions.

#include <string>
#include <vector>

#include "history/live_request.h"

namespace esper {

enum class SettingHolds { kFromEndOfEpoch, kFromResume };

// Lines; without changes: that nothing changes.
std::string setting_text(const std::vector<history::FieldChange>& changes, SettingHolds from);

}  // namespace esper
