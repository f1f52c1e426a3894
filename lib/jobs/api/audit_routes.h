#pragma once
// The audit log, for reading. On the loop's thread.

#include "jobs/api/router.h"
#include "jobs/store/job_store.h"

namespace esper::jobs {

// GET /v1/audit?after=ID&limit=N. The router must not outlive the store.
void add_audit_routes(Router& router, JobStore& store);

}  // namespace esper::jobs
