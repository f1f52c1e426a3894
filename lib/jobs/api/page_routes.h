#pragma once
// What a browser gets, and the description of this interface. Any thread.

#include "jobs/api/router.h"

namespace esper::jobs {

// GET / is the page, GET /v1/openapi.json the OpenAPI document.
void add_page_routes(Router& router);

}  // namespace esper::jobs
