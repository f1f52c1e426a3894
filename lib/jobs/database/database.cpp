#include "jobs/database/database.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/signal_point.h"

namespace esper::jobs {
namespace {

constexpr int kCacheKib = 2048;

[[noreturn]] void fail_with(sqlite3* connection, const std::string& what, int code) {
  throw DatabaseError(what, code, connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(code));
}

}  // namespace

DatabaseError::DatabaseError(const std::string& what, int code, const std::string& text)
    : Error(base::ExitCode::kResources, what + ": " + text), code_(code & 0xff) {}

sqlite3_stmt* Connection::take(std::string_view sql) {
  auto kept = kept_.find(sql);
  if (kept == kept_.end()) {
    if (kept_.size() == kMostKept) kept_.clear();
    kept = kept_.try_emplace(std::string(sql)).first;
  }
  if (kept->second) return kept->second.release();
  sqlite3_stmt* made = nullptr;
  const int code =
      sqlite3_prepare_v3(handle(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &made, nullptr);
  if (code != SQLITE_OK) fail_with(handle(), "database: cannot prepare a statement", code);
  return made;
}

void Connection::give_back(sqlite3_stmt* statement) noexcept {
  std::unique_ptr<sqlite3_stmt, Finalize> returned(statement);
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  const auto kept = kept_.find(std::string_view(sqlite3_sql(statement)));
  if (kept != kept_.end()) kept->second = std::move(returned);
}

Statement::Statement(Connection& connection, std::string_view sql) : statement_(connection.take(sql), {&connection}) {}

sqlite3* Statement::database() const { return sqlite3_db_handle(statement_.get()); }

void Statement::check(int code, const char* what) const {
  if (code != SQLITE_OK) fail_with(database(), std::string("database: ") + what, code);
}

Statement& Statement::bind(std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), ++bound_, value), "cannot bind a number");
  return *this;
}

Statement& Statement::bind(std::string_view value) {
  check(sqlite3_bind_text64(statement_.get(), ++bound_, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8),
        "cannot bind a text");
  return *this;
}

Statement& Statement::bind_real(double value) {
  check(sqlite3_bind_double(statement_.get(), ++bound_, value), "cannot bind a number");
  return *this;
}

Statement& Statement::bind_nothing() {
  check(sqlite3_bind_null(statement_.get(), ++bound_), "cannot bind nothing");
  return *this;
}

Statement& Statement::bind(std::optional<std::int64_t> value) { return value ? bind(*value) : bind_nothing(); }

Statement& Statement::bind_unless_empty(std::string_view value) { return value.empty() ? bind_nothing() : bind(value); }

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) fail_with(database(), "database: cannot carry out a statement", code);
  return code == SQLITE_ROW;
}

void Statement::run() {
  while (step()) {
  }
  sqlite3_reset(statement_.get());
  bound_ = 0;
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

bool Statement::is_nothing(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

std::vector<std::int64_t> integers_in(Statement& rows) {
  std::vector<std::int64_t> numbers;
  while (rows.step()) numbers.push_back(rows.integer(0));
  return numbers;
}

std::string integers_json(const std::vector<std::int64_t>& integers) { return nlohmann::json(integers).dump(); }

Database::Database(const std::string& path) {
  sqlite3* made = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &made, flags, nullptr);
  connection_ = std::make_unique<Connection>(made);
  if (code != SQLITE_OK) fail_with(made, "cannot open " + path, code);
  sqlite3_extended_result_codes(made, 0);
  // EXCLUSIVE comes first: the index of the log is then this process's memory, not a shared file.
  run("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
      "PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0; PRAGMA cache_size=-" +
      std::to_string(kCacheKib) + ";");
}

void Database::run(const std::string& sql) {
  const int code = sqlite3_exec(connection_->handle(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail_with(connection_->handle(), "database: cannot carry out a statement", code);
}

Transaction::Transaction(Database& database) : database_(database), open_(!database.is_in_transaction()) {
  if (open_) database_.run("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.run("ROLLBACK");
  } catch (const DatabaseError&) {  // the failed statement has rolled back already
  }
}

void Transaction::commit() {
  if (!open_) return;
  base::fault::kill_point("jobs.before_commit");
  database_.run("COMMIT");
  open_ = false;
  base::fault::kill_point("jobs.after_commit");
}

}  // namespace esper::jobs
