#include "jobs/database/schema.h"

#include <sys/resource.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/temporary_folder.h"

namespace esper::test::schema_test {

using namespace esper::jobs;

namespace {

std::string refusal_of(const std::string& path, esper::base::ExitCode expected = esper::base::ExitCode::kCheckpoint) {
  try {
    open_database(path);
  } catch (const esper::base::Error& error) {
    CHECK(error.code() == expected);
    return error.what();
  }
  return "";
}

// While it lives, no file of this process may get longer.
class ShortFiles {
 public:
  explicit ShortFiles(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit limit{bytes, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~ShortFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  ShortFiles(const ShortFiles&) = delete;
  ShortFiles& operator=(const ShortFiles&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace

TEST_CASE("a database is made, and opened again") {
  const esper::test::TemporaryFolder folder;
  const std::string path = folder / "jobs.db";
  for (int times = 0; times < 2; ++times) {
    Database database = open_database(path);
    auto version = database.prepare("PRAGMA user_version");
    REQUIRE(version.step());
    CHECK(version.integer(0) == 5);
    auto journal = database.prepare("PRAGMA journal_mode");
    REQUIRE(journal.step());
    CHECK(journal.text(0) == "wal");
  }
}

TEST_CASE("one of the first version is brought up to date with what it has") {
  const esper::test::TemporaryFolder folder;
  const std::string path = folder / "jobs.db";
  {
    Database database = open_database(path);
    database.run(
        "DROP INDEX jobs_by_priority; DROP INDEX jobs_by_end; DROP TABLE results; DROP TABLE trials; DROP TABLE "
        "sweeps; ALTER TABLE jobs DROP "
        "COLUMN epochs;"
        "ALTER TABLE jobs DROP COLUMN forecast; ALTER TABLE jobs DROP COLUMN peak_bytes;"
        "PRAGMA user_version = 1;"
        "INSERT INTO jobs (name, state, threads, memory_bytes, gpus, folder, run_dir, submitted_ms, uid) VALUES "
        "('old', 'queued', 1, 0, 0, '/', '/runs/old', 5, 1000)");
  }
  Database database = open_database(path);
  auto row = database.prepare("SELECT name, epochs, (SELECT count(*) FROM sweeps) FROM jobs");
  REQUIRE(row.step());
  CHECK(row.text(0) == "old");
  CHECK(row.integer(1) == 0);
  CHECK(row.integer(2) == 0);
  for (const char* index : {"jobs_by_end", "jobs_by_priority"})
    CHECK(database.prepare("SELECT 1 FROM sqlite_master WHERE name = ?").bind(index).step());
}

TEST_CASE("the page on recovery gives the version that a new database has") {
  const esper::test::TemporaryFolder folder;
  Database database = open_database(folder / "jobs.db");
  auto version = database.prepare("PRAGMA user_version");
  REQUIRE(version.step());
  std::ifstream file(ESPER_SOURCE_DIR "/docs/daemon.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  CHECK(page.find("'PRAGMA user_version=" + std::to_string(version.integer(0)) + "'") != std::string::npos);
}

TEST_CASE("one of a newer version is refused and left as it is") {
  const esper::test::TemporaryFolder folder;
  const std::string path = folder / "jobs.db";
  {
    open_database(path).run("PRAGMA user_version = 99");
  }
  CHECK(refusal_of(path).find("has version 99, this esper knows 5") != std::string::npos);
  CHECK(refusal_of(path).find("--state-dir") != std::string::npos);
}

TEST_CASE("one that is damaged is refused with the way out") {
  const esper::test::TemporaryFolder folder;
  const std::string path = folder / "jobs.db";
  {
    open_database(path);
  }
  SECTION("no database at all") { std::ofstream(path) << std::string(9000, 'x'); }
  SECTION("its end is missing") { std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2); }
  CHECK(refusal_of(path).find("docs/daemon.md") != std::string::npos);
}

TEST_CASE("one that cannot be made for lack of room is not called damaged, and can be made later") {
  const esper::test::TemporaryFolder folder;
  const std::string path = folder / "jobs.db";
  std::string refusal;
  {
    const ShortFiles short_files(8192);
    refusal = refusal_of(path, esper::base::ExitCode::kResources);
  }
  CHECK(refusal.find("once its disk has room") != std::string::npos);
  CHECK(refusal.find("damaged") == std::string::npos);
  open_database(path);
}

TEST_CASE("one that another connection has is refused until that is gone") {
  const esper::test::TemporaryFolder folder;
  const std::string path = folder / "jobs.db";
  {
    const Database first = open_database(path);
    CHECK(refusal_of(path, esper::base::ExitCode::kTryAgain).find("in use by another program") != std::string::npos);
  }
  open_database(path);
}

}  // namespace esper::test::schema_test
