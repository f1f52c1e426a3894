#pragma once
// growth.kind deepen: the germinations that it stands for. Any thread.

#include <string>
#include <vector>

#include "config/entries/entry.h"
#include "config/entries/scheduled_germination.h"
#include "config/facts/slot_geometry.h"
#include "config/run_config.h"

namespace esper::config {

// "copy_block" or "copy_block_plain"
std::string copied_blueprint(DeepenForm form);
// The slots behind blocks of the host that can be copied, of those that growth.slots does not leave out.
std::vector<SlotGeometry> deepened_slots(const RunConfig& config);
// What policy.kind schedule germinates: the lines of policy.schedule, then those of growth.kind deepen, one for each
// block that it copies.
std::vector<Entry<ScheduledGermination>> scheduled_germinations(const RunConfig& config);

}  // namespace esper::config
