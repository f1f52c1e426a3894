#pragma once
// SQLite with owners for its handles. One thread; one connection in the whole system: SQLite before 3.51.3 can damage a
// database in WAL mode where several connections checkpoint, so this one takes the file for itself alone.

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace esper::jobs {

// A statement that could not be carried out; the transaction around it is rolled back.
class DatabaseError : public base::Error {
 public:
  DatabaseError(const std::string& what, int code, const std::string& text);
  // Space is used up: what was to be written is refused, and can be tried again when there is room.
  bool out_of_space() const { return code_ == SQLITE_FULL || code_ == SQLITE_IOERR; }
  bool is_busy() const { return code_ == SQLITE_BUSY || code_ == SQLITE_LOCKED; }

 private:
  int code_;
};

// An open database, and the statements that were compiled for it and are not in use: most take several times as long
// to compile as to carry out.
class Connection {
 public:
  static constexpr std::size_t kMostKept = 128;

  explicit Connection(sqlite3* handle) : handle_(handle) {}
  sqlite3* handle() const { return handle_.get(); }
  // One without bound parameters, which is to be given back. Throws DatabaseError.
  sqlite3_stmt* take(std::string_view sql);
  void give_back(sqlite3_stmt* statement) noexcept;

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close(handle); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3, Close> handle_;
  // By their text; null where one is in use. Beyond kMostKept texts all are dropped, and compiled again when needed.
  std::map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, std::less<>> kept_;
};

class Statement {
 public:
  // Parameters count from 1, in the order of the question marks.
  Statement& bind(std::int64_t value);
  Statement& bind(std::string_view value);
  // One that is not a number is stored as nothing.
  Statement& bind_real(double value);
  // None is stored as nothing, as an empty text is by the next one.
  Statement& bind(std::optional<std::int64_t> value);
  Statement& bind_unless_empty(std::string_view value);
  // True: there is a row to read.
  bool step();
  // To the end; for statements without rows. Then parameters can be bound again, from the first.
  void run();
  // Of the row; columns count from 0.
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  bool is_nothing(int column) const;

 private:
  friend class Database;
  Statement(Connection& connection, std::string_view sql);
  struct GiveBack {
    Connection* connection;
    void operator()(sqlite3_stmt* statement) const { connection->give_back(statement); }
  };
  sqlite3* database() const;
  void check(int code, const char* what) const;
  Statement& bind_nothing();

  std::unique_ptr<sqlite3_stmt, GiveBack> statement_;
  int bound_ = 0;
};

// The first column of all rows that are left.
std::vector<std::int64_t> integers_in(Statement& rows);
// For json_each(): thousands of integers in one parameter.
std::string integers_json(const std::vector<std::int64_t>& integers);

class Database {
 public:
  // Makes the file if needed. Commits are on the disk when they return. Throws DatabaseError.
  explicit Database(const std::string& path);

  // The statement ends before the database does.
  Statement prepare(std::string_view sql) { return {*connection_, sql}; }
  // Several statements without rows.
  void run(const std::string& sql);
  std::int64_t last_id() const { return sqlite3_last_insert_rowid(connection_->handle()); }
  bool is_in_transaction() const { return sqlite3_get_autocommit(connection_->handle()) == 0; }

 private:
  std::unique_ptr<Connection> connection_;  // statements refer to it
};

// All or nothing: rolled back at the end of its life unless committed. One within another belongs to it: it is
// committed with it, and where it is not, neither may the outer one be.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_;  // false: committed, or within another one
};

}  // namespace esper::jobs
