#include "jobs/database/database.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace esper::test::database_test {

using namespace esper::jobs;

namespace {

sqlite3* g_opened = nullptr;

int remember_opened(sqlite3* connection, const char**, const sqlite3_api_routines*) {
  g_opened = connection;
  return SQLITE_OK;
}

// A database, and a look at what SQLite has compiled for it.
struct Opened {
  TemporaryFolder folder;
  Database database = open(folder / "some.db");

  static Database open(const std::string& path) {
    const auto hook = reinterpret_cast<void (*)()>(&remember_opened);
    sqlite3_auto_extension(hook);
    Database made(path);
    sqlite3_cancel_auto_extension(hook);
    return made;
  }
  // How often each compiled statement was run.
  static std::vector<int> runs() {
    std::vector<int> counts;
    for (auto* one = sqlite3_next_stmt(g_opened, nullptr); one != nullptr; one = sqlite3_next_stmt(g_opened, one))
      counts.push_back(sqlite3_stmt_status(one, SQLITE_STMTSTATUS_RUN, 0));
    return counts;
  }
};

}  // namespace

TEST_CASE("a statement is compiled once, however often it is used, and few of them are kept") {
  Opened opened;
  for (int i = 0; i < 3; ++i) CHECK(opened.database.prepare("SELECT ?").bind(i).step());
  CHECK(Opened::runs() == std::vector<int>{3});
  for (std::size_t i = 1; i < Connection::kMostKept; ++i) opened.database.prepare("SELECT " + std::to_string(i)).step();
  CHECK(opened.database.prepare("SELECT ?").bind(3).step());  // a known one displaces none
  CHECK(Opened::runs().size() == Connection::kMostKept);
  CHECK(std::ranges::count(Opened::runs(), 4) == 1);
  for (std::size_t i = 0; i < 3 * Connection::kMostKept; ++i)
    opened.database.prepare("SELECT " + std::to_string(i)).step();
  CHECK(Opened::runs().size() <= Connection::kMostKept);
}

TEST_CASE(
    "a statement that is used again starts at its first row, with nothing bound, and two of one text have their own "
    "rows") {
  Opened opened;
  opened.database.run("CREATE TABLE numbers (n INTEGER); INSERT INTO numbers VALUES (1), (2)");
  const std::string sql = "SELECT n, ? FROM numbers ORDER BY n";
  {
    auto left = opened.database.prepare(sql);
    REQUIRE(left.bind("bound").step());
  }
  auto first = opened.database.prepare(sql), second = opened.database.prepare(sql);
  REQUIRE(first.step());
  CHECK(first.integer(0) == 1);
  CHECK(first.is_nothing(1));
  REQUIRE(second.step());
  REQUIRE(second.step());
  CHECK(second.integer(0) == 2);
  CHECK(first.integer(0) == 1);
}

TEST_CASE("a statement follows a change of its table, and one that failed can be used again") {
  Opened opened;
  opened.database.run("CREATE TABLE numbers (n INTEGER UNIQUE)");
  const auto add = [&](std::int64_t n) { opened.database.prepare("INSERT INTO numbers (n) VALUES (?)").bind(n).run(); };
  add(1);
  CHECK_THROWS_AS(add(1), DatabaseError);
  opened.database.run("ALTER TABLE numbers ADD COLUMN twice INTEGER DEFAULT 7");
  add(2);
  auto sum = opened.database.prepare("SELECT sum(n), sum(twice) FROM numbers");
  REQUIRE(sum.step());
  CHECK(sum.integer(0) == 3);
  CHECK(sum.integer(1) == 14);
}

}  // namespace esper::test::database_test
