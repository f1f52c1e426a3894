#include "jobs/process/log_files.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/temporary_folder.h"

namespace esper::test::log_files_test {

using namespace esper::jobs;

namespace {

void write_log(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::app) << text; }

std::string log_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool rotated(const std::string& path, std::int64_t max_bytes) {
  const auto result = rotate_log(path, max_bytes);
  REQUIRE(result);
  return *result;
}

}  // namespace

TEST_CASE("a log that is full becomes the first of three earlier ones") {
  const esper::test::TemporaryFolder folder;
  const std::string log = folder / "output.log";
  CHECK(!rotated(log, 10));
  write_log(log, "123456789");
  CHECK(!rotated(log, 10));
  write_log(log, "0");
  CHECK(rotated(log, 10));
  CHECK(!std::filesystem::exists(log));
  CHECK(log_text(log + ".1") == "1234567890");
  for (const char* text : {"second....", "third.....", "fourth....", "fifth....."}) {
    write_log(log, text);
    CHECK(rotated(log, 10));
  }
  CHECK(log_text(log + ".1") == "fifth.....");
  CHECK(log_text(log + ".2") == "fourth....");
  CHECK(log_text(log + ".3") == "third.....");
  CHECK(!std::filesystem::exists(log + ".4"));
}

TEST_CASE("a gap among the earlier logs, and a log that is no file, are left") {
  const esper::test::TemporaryFolder folder;
  const std::string log = folder / "output.log";
  write_log(log, "1234567890");
  write_log(log + ".2", "older");
  CHECK(rotated(log, 10));
  CHECK(log_text(log + ".1") == "1234567890");
  CHECK(log_text(log + ".3") == "older");
  std::filesystem::create_symlink(log + ".1", log);
  CHECK(!rotated(log, 1));
}

TEST_CASE("a log that cannot be renamed is a failure with its path") {
  const esper::test::TemporaryFolder folder;
  const std::string log = folder / "output.log";
  write_log(log, "1234567890");
  write_log(log + ".2", "older");
  std::filesystem::create_directory(log + ".3");
  const auto result = rotate_log(log, 10);
  REQUIRE(!result);
  CHECK(result.error().find(log) != std::string::npos);
  CHECK(log_text(log) == "1234567890");
}

TEST_CASE("a process that writes to its own log goes on in the new one") {
  const esper::test::TemporaryFolder folder;
  const std::string log = folder / "daemon.log";
  const pid_t child = ::fork();
  if (child == 0) {
    const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(file, STDERR_FILENO);
    ::dup2(file, STDOUT_FILENO);
    const auto say = [](int to, const char* text) { return ::write(to, text, 6) == 6; };
    bool good = say(STDERR_FILENO, "first\n") && !rotate_own_log(log, 100).value();
    good = good && !rotate_own_log(log + "-another", 1).value() && rotate_own_log(log, 6).value();
    good = good && say(STDERR_FILENO, "error\n") && say(STDOUT_FILENO, "print\n");
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(log_text(log + ".1") == "first\n");
  CHECK(log_text(log) == "error\nprint\n");
}

}  // namespace esper::test::log_files_test
