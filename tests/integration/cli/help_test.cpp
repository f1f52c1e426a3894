#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli.h"
#include "support/committed_file.h"
#include "support/files.h"

namespace esper::test::help_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<std::string> describe(const std::string& command) {
  std::vector<std::string> words;
  for (std::size_t from = 0; from < command.size();) {
    const std::size_t blank = std::min(command.find(' ', from), command.size());
    words.push_back(command.substr(from, blank - from));
    from = blank + 1;
  }
  return words;
}

std::set<std::string> numbers_in(const std::string& text) {
  static const std::regex kNumber("[0-9]+");
  return {std::sregex_token_iterator(text.begin(), text.end(), kNumber), std::sregex_token_iterator()};
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const auto from = text.find(begin);
  REQUIRE(from != std::string::npos);
  const auto rest = text.substr(from + begin.size());
  return rest.substr(0, rest.find(end));
}

// Of the runbook: the first cell of each row.
std::set<std::string> documented_exit_codes() {
  std::set<std::string> codes;
  std::istringstream lines(between(read_text(ESPER_SOURCE_DIR "/docs/runbook.md"), "\n## Exit codes\n", "\n## "));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| ")) codes.merge(numbers_in(between(line, "| ", " |")));
  }
  return codes;
}

}  // namespace

TEST_CASE("the help lists the exit codes of the runbook") {
  const std::string help = run_esper({"--help"}).out;
  CHECK(numbers_in(between(help, "Exit codes:", "\n\n")) == documented_exit_codes());
  const std::string of_one = between(help, "1 a difference", "2 configuration");
  for (const char* command : {"verify-resume", "drill", "repro", "policy replay"})
    CHECK_THAT(of_one, ContainsSubstring(command));
}

TEST_CASE("the help of every command is the approved one, with an example") {
  const std::string command =
      GENERATE("", "train", "evaluate", "why-slow", "config", "config check", "config show", "config explain",
               "config schema", "config diff", "telemetry", "telemetry list", "telemetry diff", "topo", "topo log",
               "topo show", "topo diff", "runs", "runs list", "runs show", "runs compare", "runs rm", "runs gc",
               "receipt", "fork", "set", "submit", "jobs", "job", "job show", "job wait", "job cancel", "job pause",
               "job hold", "job resume", "job retry", "job priority", "job edit", "job set", "sweep", "sweep list",
               "sweep show", "sweep cancel", "sweep resume", "logs", "attach", "daemon", "daemon status",
               "daemon drain", "daemon stop", "daemon audit", "daemon install", "doctor", "completion", "bench",
               "baseline", "baseline save", "baseline check", "baseline list", "baseline show", "baseline diff");
  CAPTURE(command);
  std::vector<std::string> arguments = describe(command);
  arguments.push_back("--help");
  const Finished help = run_esper(arguments);
  CHECK(help.exit_code == 0);
  CHECK(help.err.empty());
  CHECK_THAT(help.out, ContainsSubstring("Example: esper"));
  CHECK_THAT(help.out, ContainsSubstring("Exit codes:"));
  std::string name = command.empty() ? "esper" : "esper_" + command;
  std::replace(name.begin(), name.end(), ' ', '_');
  check_committed_file("baselines/cli/" + name + ".txt", help.out);
}

TEST_CASE("help loads neither the engine nor torch: it starts in milliseconds") {
  const Finished help = run_program({binary(), "--help"}, {"LD_DEBUG=libs"});
  CHECK(help.exit_code == 0);
  CHECK_THAT(help.err, ContainsSubstring("calling init"));  // every library that is loaded
  for (const char* library : {"libesper_engine", "libtorch", "libc10"}) {
    CHECK_THAT(help.err, !ContainsSubstring(library));
  }
}

TEST_CASE("the front is free of libtorch") {
  const Finished needed = run_program({"/bin/sh", "-c", "ldd " + binary()});
  CHECK(needed.exit_code == 0);
  CHECK(needed.out.find("libtorch") == std::string::npos);
  CHECK(needed.out.find("libc10") == std::string::npos);
}

}  // namespace esper::test::help_test
