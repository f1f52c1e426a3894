#pragma once
// Who asked for what, and what the daemon did: one line for each change of a job's state, in the transaction that makes
// it. Nothing is ever taken out. One thread.

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "base/text/json_struct.h"
#include "jobs/database/database.h"
#include "jobs/job/job.h"

namespace esper::jobs {

// `what` is "daemon" where nobody asked. Its time is milliseconds since the UNIX epoch.
struct Asked {
  std::int64_t at_ms = 0;
  std::int64_t uid = 0;
  std::string what{};  // "submit", "cancel"
  std::string details{};
};

struct AuditLine {
  std::int64_t id = 0;  // ascending
  std::int64_t at_ms = 0, uid = 0;
  std::string what{};
  std::optional<JobId> job{};  // none: the daemon itself
  std::string state{};         // that the job had from then on
  std::string details{};
  bool operator==(const AuditLine&) const = default;
};
constexpr auto json_members(const AuditLine*) {
  using base::json_member;
  using A = AuditLine;
  return std::tuple{json_member("id", &A::id),          json_member("at_ms", &A::at_ms),
                    json_member("uid", &A::uid),        json_member("what", &A::what),
                    json_member("job", &A::job),        json_member("state", &A::state),
                    json_member("details", &A::details)};
}

// With the machine's time.
Asked asked_now(std::int64_t uid, std::string what, std::string details = "");

// After the change itself. Throw DatabaseError.
void add_to_audit(Database& database, const Asked& asked, std::optional<JobId> job);
// Those after the line `after`, or the newest ones; oldest first.
std::vector<AuditLine> read_audit(Database& database, std::optional<std::int64_t> after, std::int64_t most);

}  // namespace esper::jobs
