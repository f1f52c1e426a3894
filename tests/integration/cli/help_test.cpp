#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
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

using Command = std::vector<std::string>;

// The names under "Subcommands:".
std::vector<std::string> listed_commands(const std::string& help) {
  std::vector<std::string> names;
  std::istringstream lines(help);
  std::string line;
  while (std::getline(lines, line) && line != "Subcommands:") {
  }
  while (std::getline(lines, line) && line.starts_with("  ")) names.push_back(line.substr(2, line.find(' ', 2) - 2));
  return names;
}

// "esper_config_check.txt"
std::string file_of(const Command& command) {
  std::string name = "esper";
  for (const std::string& word : command) name += "_" + word;
  return name + ".txt";
}

std::string checked_help(const Command& command) {
  Command arguments = command;
  arguments.push_back("--help");
  const Finished help = run_esper(arguments);
  CHECK(help.exit_code == 0);
  CHECK(help.err.empty());
  CHECK_THAT(help.out, ContainsSubstring("Example: esper"));
  CHECK_THAT(help.out, ContainsSubstring("Exit codes:"));
  check_committed_file("baselines/cli/" + file_of(command), help.out);
  return help.out;
}

std::set<std::string> committed_helps() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(ESPER_SOURCE_DIR "/baselines/cli"))
    names.insert(entry.path().filename().string());
  return names;
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

TEST_CASE("the help of every listed command is the approved one, with an example, and no other is committed") {
  std::vector<Command> commands(1);  // esper itself
  std::set<std::string> files;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    Command command = commands[i];
    CAPTURE(command);
    files.insert(file_of(command));
    const std::vector<std::string> below = listed_commands(checked_help(command));
    for (const std::string& name : below) {
      commands.push_back(command);
      commands.back().push_back(name);
    }
  }
  CHECK(committed_helps() == files);
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
