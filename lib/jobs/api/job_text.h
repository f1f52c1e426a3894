#pragma once
// A job as JSON text. Lists have thousands: no document is built in memory for them. Any thread.

#include <string>

#include "jobs/job/job.h"

namespace esper::jobs {

// What base::json_line(base::to_json(job)) says, with null in place of the forecast, perhaps in another order of the
// fields.
void append_listed_json(std::string& text, const Job& job);

}  // namespace esper::jobs
