#include "tamiyo/process/serve.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "support/patience.h"
#include "support/scripted_controller.h"
#include "tamiyo/process/answer_reader.h"
#include "unit/tamiyo/decided_run.h"
#include "unit/tamiyo/signed_commands.h"

namespace esper::tamiyo::serve_test {
namespace {

using leyline::Decision;
using leyline::Observation;

// A controller that answers in a thread, and the run's side of the channel.
struct Served {
  base::Descriptor theirs;
  base::LineChannel channel{theirs};
  AnswerReader reader{base::Clock()};
  DecidedRun run;
  std::thread server;

  explicit Served(MakeController make) {
    reader.begin(test_key());
    server = std::thread([this, make = std::move(make)] {
      serve_controller(base::LineChannel::over(std::move(theirs)), test_key(), make);
    });
  }
  ~Served() {
    channel.close();
    server.join();
  }

  ControllerReply say(const std::string& text, std::uint64_t number) {
    REQUIRE(channel.send(text, test::kPatience) == base::LineChannel::Send::kSent);
    while (true) {
      std::string line;
      REQUIRE(channel.read_line(line, test::kPatience) == base::LineChannel::Read::kLine);
      auto taken = reader.take(line, number);
      REQUIRE(taken);
      if (*taken) return **taken;
    }
  }
  ControllerReply start() { return say(start_text({{"policy", "scripted"}}), 0); }
  ControllerReply ask(std::uint64_t number, nlohmann::json state) {
    ControllerQuestion question;
    question.number = number;
    question.observation = run.now;
    question.state = std::move(state);
    return say(text_of(question), number);
  }
};

MakeController scripted(test::ScriptedController::Script script) {
  return [script](const nlohmann::json& start) {
    if (start.at("policy") != "scripted") throw std::runtime_error("another start");
    return test::scripted(script);
  };
}

}  // namespace

TEST_CASE("a served controller's decision arrives as it was made, but for the time of its commands") {
  Served it(scripted([](const Observation& seen) {
    Decision decision{
        {test::seed_command(seen, leyline::SeedOperation::kCull, "seed-0001")}, "it harms", {"a warning"}};
    decision.commands[0].annotations["reason"] = "it harms";
    decision.assessment.emplace().risk = 0.1;
    decision.details = "{\"why\":1}";
    return decision;
  }));
  CHECK(it.start().answer.state == nlohmann::json::object());
  const auto reply = it.ask(1, {{"epoch", 2}});
  REQUIRE(reply.commands.size() == 1);
  CHECK(reply.commands[0].command_id == "command-3");
  CHECK(reply.commands[0].target_seed_id == "seed-0001");
  CHECK(reply.commands[0].annotations.at("reason") == "it harms");
  CHECK(reply.answer.reason == "it harms");
  CHECK(reply.answer.warnings == std::vector<std::string>{"a warning"});
  CHECK(reply.answer.assessment->risk == 0.1);
  CHECK(reply.answer.details == "{\"why\":1}");
  CHECK(reply.answer.state == nlohmann::json{{"epoch", 3}});
}

TEST_CASE("a controller that fails says why, and is asked on") {
  Served it(scripted([](const Observation& seen) -> Decision {
    if (seen.current_epoch == 3) throw std::runtime_error("no idea");
    return {{}, "better"};
  }));
  it.start();
  const auto failed = it.ask(1, nlohmann::json::object());
  CHECK(failed.answer.problem == "no idea");
  CHECK(failed.commands.empty());
  ++it.run.now.current_epoch;
  CHECK(it.ask(2, nlohmann::json::object()).answer.reason == "better");
}

TEST_CASE("a controller that cannot be made says why") {
  Served it([](const nlohmann::json&) -> std::unique_ptr<leyline::Controller> {
    throw std::runtime_error("policy.file: there is none");
  });
  CHECK(it.start().answer.problem == "policy.file: there is none");
}

TEST_CASE("a question without an observation says whether the state is one to go on from") {
  Served it(scripted([](const Observation&) { return Decision{}; }));
  it.start();
  ControllerQuestion question;
  question.number = 1;
  question.state = {{"epoch", 9}};
  const auto reply = it.say(text_of(question), 1);
  CHECK(reply.answer.problem.empty());
  CHECK(reply.answer.state == nlohmann::json{{"epoch", 9}});
}

}  // namespace esper::tamiyo::serve_test
