#include "jobs/store/missing_row.h"

namespace esper::jobs {

base::ConfigError missing_row(const std::string& what) {
  return base::ConfigError({{.place = {.file = "jobs.db"}, .path = "", .text = what + " is missing"}});
}

}  // namespace esper::jobs
