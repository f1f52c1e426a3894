#pragma once
// The timeline of a seed, record by record, for its receipt.

#include "history/growth/lineage.h"
#include "history/receipt/receipt.h"

namespace esper::history {

// Fills the fields that follow from the records on receipt.seed_id: its origin, in which run, its stages, its end and
// every event. What esper topo shows of it is the same. Throws Error{kConfig} that names the seeds there are where this
// one is unknown.
void take_timeline(Receipt& receipt, const Lineage& lineage);

// Of an event "stage".
bool is_germination(const GrowthRecord& record);
bool is_cull(const GrowthRecord& record);
bool is_about(const GrowthRecord& record, const std::string& seed_id);

// The measured value of that name.
std::optional<double> value_at(const std::map<std::string, double>& values, const char* name);

}  // namespace esper::history
