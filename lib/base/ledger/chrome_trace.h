#pragma once
// A ledger's spans in the trace event format that chrome://tracing and ui.perfetto.dev open.
// Source: "Trace Event Format", Google, the events X (complete), i (instant), C (counter) and M (metadata).

#include <string>
#include <string_view>

#include "base/ledger/ledger.h"

namespace esper::base {

// Times in microseconds since the account began, in increasing order; a span holds those that began within it. A step
// and an owner's span carry the number of the step, an epoch its own. otherData says how many older entries were
// dropped for lack of room. The ledger keeps spans and was settled last after the last of them.
std::string chrome_trace(const Ledger& ledger, std::string_view run);

}  // namespace esper::base
