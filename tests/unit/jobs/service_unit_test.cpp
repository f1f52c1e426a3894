#include "jobs/daemon/service_unit.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "support/temporary_folder.h"

namespace esper::test::service_unit_test {

using namespace esper;
using namespace esper::jobs;

namespace {

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

std::string text_of_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("the unit has what systemd needs to keep the daemon and its jobs alive") {
  const std::string unit = unit_text({.program = "/opt/esper/bin/esper", .state_dir = "/home/a/state", .config = {}});
  CHECK(has_line(unit, R"(ExecStart="/opt/esper/bin/esper" "daemon" "--state-dir" "/home/a/state")"));
  for (const char* line :
       {"[Unit]", "[Service]", "Type=notify", "NotifyAccess=main", "KillMode=process", "OOMPolicy=continue",
        "Restart=on-failure", "WatchdogSec=120", "[Install]", "WantedBy=default.target"}) {
    CAPTURE(line);
    CHECK(has_line(unit, line));
  }
}

TEST_CASE("what systemd would read in a path is escaped") {
  const std::string unit =
      unit_text({.program = "/a b/$x/100%", .state_dir = R"(/q"uo\te)", .config = "/$HOME/50%/ä.yaml"});
  CHECK(has_line(unit,
                 "ExecStart=\"/a b/$x/100%%\" \"daemon\" \"--state-dir\" \"/q\\\"uo\\\\te\" \"--config\" "
                 "\"/$$HOME/50%%/ä.yaml\""));
}

TEST_CASE("a path that no unit can hold is refused") {
  for (const char* path : {"/two\nlines", "/bell\a", "/no utf-8 \xff"}) {
    CHECK_THROWS_AS(unit_text({.program = "/esper", .state_dir = path, .config = {}}), base::Error);
    CHECK_THROWS_AS(crontab_line({.program = "/esper", .state_dir = path, .config = {}}), base::Error);
  }
}

TEST_CASE("a program that systemd would not start is refused") {
  for (const char* program : {"/it's/esper", "/a\"b/esper", "/a\\b/esper"})
    CHECK_THROWS_AS(unit_text({.program = program, .state_dir = "/state", .config = {}}), base::Error);
}

TEST_CASE("the crontab's line survives the shell, and cron's own percent signs") {
  const test::TemporaryFolder folder;
  const std::string program = folder / "it's a program";
  std::ofstream(program) << "#!/bin/sh\nprintf '%s\\n' \"$@\"\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const std::string state = folder / "$HOME 50%";
  std::filesystem::create_directory(state);
  std::string line = crontab_line({.program = program, .state_dir = state, .config = {}});
  REQUIRE(line.starts_with("@reboot "));
  // cron: an escaped percent sign is one, a bare one ends the command.
  std::string command;
  for (std::size_t i = 8; i < line.size(); ++i) {
    if (line[i] == '\\' && line[i + 1] == '%') continue;
    REQUIRE((line[i] != '%' || line[i - 1] == '\\'));
    command += line[i];
  }
  CHECK(std::system(command.c_str()) == 0);
  CHECK(text_of_file(state + "/daemon.log") == "daemon\n--state-dir\n" + state + "\n");
}

TEST_CASE("a unit is written once, and another one is not replaced unasked") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "systemd/user/esper.service";
  CHECK(install_unit(path, "one\n", OnDifferent::kRefuse) == Installation::kWritten);
  CHECK(text_of_file(path) == "one\n");
  CHECK(install_unit(path, "one\n", OnDifferent::kRefuse) == Installation::kUnchanged);
  CHECK_THROWS_AS(install_unit(path, "two\n", OnDifferent::kRefuse), base::Error);
  CHECK(text_of_file(path) == "one\n");
  CHECK(install_unit(path, "two\n", OnDifferent::kReplace) == Installation::kWritten);
  CHECK(text_of_file(path) == "two\n");
}

}  // namespace esper::test::service_unit_test
