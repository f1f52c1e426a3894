#include "jobs/store/audit_log.h"

#include <catch2/catch_test_macros.hpp>

#include "jobs/database/schema.h"
#include "support/temporary_folder.h"

namespace esper::test::audit_log_test {

using namespace esper::jobs;

TEST_CASE("lines are read back as they were written, from a line on") {
  const esper::test::TemporaryFolder folder;
  auto database = open_database(folder / "jobs.db");
  add_to_audit(database, {.at_ms = 5, .uid = 1000, .what = "set", .details = "it's \"so\"\n"}, 7);
  add_to_audit(database, {.at_ms = 6, .uid = 0, .what = "stop"}, std::nullopt);
  const AuditLine first{1, 5, 1000, "set", 7, "", "it's \"so\"\n"}, second{2, 6, 0, "stop", std::nullopt, "", ""};
  CHECK(read_audit(database, 0, 10) == std::vector{first, second});
  CHECK(read_audit(database, 0, 1) == std::vector{first});
  CHECK(read_audit(database, std::nullopt, 1) == std::vector{second});
  CHECK(read_audit(database, std::nullopt, 10) == std::vector{first, second});
  CHECK(read_audit(database, 1, 10) == std::vector{second});
  CHECK(read_audit(database, 2, 10).empty());
}

}  // namespace esper::test::audit_log_test
