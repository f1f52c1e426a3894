#include "engine/python/json_process.h"

#include <signal.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/scratch.h"

namespace esper::test::json_process_test {

using namespace esper::engine;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using namespace std::chrono_literals;

namespace {

// A peer that is a shell script.
struct ShellPeer {
  explicit ShellPeer(const std::string& script) : process({"/bin/sh", "-c", script}, scratch.path("log")) {}
  nlohmann::json ask(std::chrono::milliseconds deadline = 40s) { return process.ask({{"do", "run"}}, deadline); }

  Scratch scratch;
  JsonProcess process;
};

}  // namespace

TEST_CASE("a peer answers line by line") {
  ShellPeer peer("while read -r question; do echo \"{\\\"heard\\\": $question}\"; done");
  CHECK(peer.ask().at("heard").at("do") == "run");
  CHECK(peer.ask().at("heard").at("do") == "run");
}

TEST_CASE("a peer that hangs is given up at the deadline, with everything it started") {
  ShellPeer peer("sleep 1000 & echo $! >&2; sleep 1000");
  CHECK_THROWS_MATCHES(peer.ask(1s), std::runtime_error, MessageMatches(ContainsSubstring("timed out")));
  pid_t grandchild = 0;
  std::ifstream(peer.scratch.path("log")) >> grandchild;
  REQUIRE(grandchild > 1);
  for (int i = 0; i < 12'000 && kill(grandchild, 0) == 0; ++i) std::this_thread::sleep_for(10ms);
  std::string state;
  std::ifstream status("/proc/" + std::to_string(grandchild) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("State:")) state = line;
  }
  CHECK((state.empty() || state.find('Z') != std::string::npos));
}

TEST_CASE("a peer that crashes is told with its last words") {
  ShellPeer peer("echo 'ImportError: no torch here' >&2; exit 3");
  CHECK_THROWS_MATCHES(peer.ask(), std::runtime_error,
                       MessageMatches(ContainsSubstring("it has exited") && ContainsSubstring("no torch here")));
  // And stays given up.
  CHECK_THROWS_MATCHES(peer.ask(), std::runtime_error, MessageMatches(ContainsSubstring("no torch here")));
}

TEST_CASE("a peer that talks garbage is told with a piece of it") {
  ShellPeer peer("read -r question; echo 'Welcome to the machine'; sleep 1000");
  CHECK_THROWS_MATCHES(peer.ask(), std::runtime_error,
                       MessageMatches(ContainsSubstring("is not JSON") && ContainsSubstring("Welcome")));
}

TEST_CASE("a peer that floods is given up") {
  ShellPeer peer("while :; do echo -n xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done");
  CHECK_THROWS_AS(peer.ask(1s), std::runtime_error);
}

TEST_CASE("a program that is not there says so") {
  const Scratch scratch;
  CHECK_THROWS_MATCHES(JsonProcess({"/nowhere/python"}, scratch.path("log")), std::runtime_error,
                       MessageMatches(ContainsSubstring("/nowhere/python does not start")));
}

}  // namespace esper::test::json_process_test
