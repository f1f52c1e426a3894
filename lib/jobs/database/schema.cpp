#include "jobs/database/schema.h"

#include <fmt/core.h>

#include <string_view>
#include <vector>

#include "jobs_schema.h"

namespace esper::jobs {
namespace {

constexpr std::string_view kMark = "\n-- version ";

// The parts of the schema's file, from version 1 on.
std::vector<std::string> migrations() {
  std::vector<std::string> parts;
  std::string_view rest = kSchemaText;
  for (auto at = rest.find(kMark); at != std::string_view::npos; at = rest.find(kMark)) {
    rest.remove_prefix(rest.find('\n', at + 1) + 1);
    parts.emplace_back(rest.substr(0, rest.find(kMark)));
  }
  return parts;
}

std::int64_t version_of(Database& database) {
  auto statement = database.prepare("PRAGMA user_version");
  statement.step();
  return statement.integer(0);
}

void migrate(Database& database, const std::string& path) {
  const auto parts = migrations();
  const auto known = static_cast<std::int64_t>(parts.size());
  const std::int64_t found = version_of(database);
  if (found > known || found < 0) {
    throw base::Error(
        base::ExitCode::kCheckpoint,
        fmt::format("{} has version {}, this esper knows {}: use the newer esper that wrote it, or another "
                    "--state-dir",
                    path, found, known));
  }
  for (std::int64_t version = found; version < known; ++version) {
    Transaction transaction(database);
    database.run(parts[static_cast<std::size_t>(version)]);
    database.run(fmt::format("PRAGMA user_version = {}", version + 1));
    transaction.commit();
  }
}

void check_whole(Database& database) {
  auto statement = database.prepare("PRAGMA quick_check(1)");
  statement.step();
  if (statement.text(0) != "ok") throw DatabaseError("it is damaged", SQLITE_CORRUPT, statement.text(0));
}

}  // namespace

Database open_database(const std::string& path) {
  try {
    Database database(path);
    check_whole(database);
    migrate(database, path);
    return database;
  } catch (const DatabaseError& error) {
    if (error.is_busy()) {
      throw base::Error(
          base::ExitCode::kTryAgain,
          fmt::format("the job database {} is in use by another program: end that program, then try again. Only the "
                      "daemon may have it open; to look into it, copy it while no daemon is running",
                      path));
    }
    if (error.out_of_space()) {
      throw base::Error(base::ExitCode::kResources,
                        fmt::format("the job database {} cannot be opened: {}. It is left as it is; start the daemon "
                                    "again once its disk has room and works (and no ulimit -f keeps files short)",
                                    path, error.what()));
    }
    throw base::Error(base::ExitCode::kCheckpoint,
                      fmt::format("the job database {} cannot be used: {}. Runs and their checkpoints are not in it. "
                                  "If it is damaged, docs/daemon.md says under \"Recovery by hand\" how to save what "
                                  "can be read; or move it away to start with an empty queue",
                                  path, error.what()));
  }
}

}  // namespace esper::jobs
