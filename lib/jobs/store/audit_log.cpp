#include "jobs/store/audit_log.h"

#include <fmt/core.h>

#include <chrono>
#include <utility>

#include "base/clock.h"

namespace esper::jobs {

Asked asked_now(std::int64_t uid, std::string what, std::string details) {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(base::Clock().wall());
  return {now.count(), uid, std::move(what), std::move(details)};
}

void add_to_audit(Database& database, const Asked& asked, std::optional<JobId> job) {
  auto row = database.prepare(
      "INSERT INTO audit (at_ms, uid, what, details, job, state) VALUES (?1, ?2, ?3, ?4, ?5, "
      "coalesce((SELECT state FROM jobs WHERE id = ?5), ''))");
  row.bind(asked.at_ms).bind(asked.uid).bind(asked.what).bind(asked.details).bind(job).run();
}

std::vector<AuditLine> read_audit(Database& database, std::optional<std::int64_t> after, std::int64_t most) {
  constexpr const char* kColumns = "SELECT id, at_ms, uid, what, job, details, state FROM audit";
  auto rows = after
                  ? database.prepare(fmt::format("{} WHERE id > ?1 ORDER BY id LIMIT ?2", kColumns))
                  : database.prepare(fmt::format("SELECT * FROM ({} ORDER BY id DESC LIMIT ?2) ORDER BY id", kColumns));
  rows.bind(after.value_or(0)).bind(most);
  std::vector<AuditLine> lines;
  while (rows.step()) {
    AuditLine line{.id = rows.integer(0), .at_ms = rows.integer(1), .uid = rows.integer(2), .what = rows.text(3)};
    if (!rows.is_nothing(4)) line.job = rows.integer(4);
    line.details = rows.text(5);
    line.state = rows.text(6);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace esper::jobs
