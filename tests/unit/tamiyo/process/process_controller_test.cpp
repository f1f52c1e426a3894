#include "tamiyo/process/process_controller.h"

#include <fmt/core.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "base/error.h"
#include "support/patience.h"
#include "support/process_end.h"
#include "support/temporary_folder.h"
#include "tamiyo/process/unstarted_controller.h"
#include "tamiyo/service/policy_service.h"
#include "unit/tamiyo/controller_program.h"
#include "unit/tamiyo/decided_run.h"

namespace esper::tamiyo::process_controller_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Kind = Answer::Kind;
using std::chrono::milliseconds;

}  // namespace

TEST_CASE("the example decides: it germinates after five epochs, and remembers in its state") {
  ProcessController controller(settings_for(example()));
  DecidedRun run;
  CHECK(controller.save_state() == R"({"process":{}})");
  for (int epoch = 1; epoch <= 4; ++epoch) CHECK(controller.decide(run.now).commands.empty());
  const auto before = controller.save_state();
  CHECK(before == R"({"process":{"epochs_without":4}})");
  const auto decision = controller.decide(run.now);
  REQUIRE(decision.commands.size() == 1);
  const auto& command = decision.commands.front();
  CHECK(command.seed_operation->operation == leyline::SeedOperation::kGerminate);
  CHECK(command.seed_operation->slot == "r0c1");
  CHECK(command.seed_operation->blueprint_id == "norm");
  CHECK(command.issued_at_ns == run.now.timestamp_ns);
  CHECK(decision.reason == "0 epochs since a germination");

  ProcessController other(settings_for(example()));
  other.load_state(before);
  CHECK(other.decide(run.now).commands.front().command_id == command.command_id);
  CHECK(other.save_state() == controller.save_state());
  controller.load_state(before);  // the same process goes back to an earlier epoch
  CHECK(controller.decide(run.now).commands.size() == 1);
  CHECK(value_of(controller.metrics(), "kasmina.command_verifier.accepted_total") == 2);
  CHECK(value_of(controller.metrics(), "tamiyo.process.starts_total") == 1);
}

TEST_CASE("a state that is none of a controller in a process is refused") {
  ProcessController controller(settings_for(example()));
  UnstartedController unstarted;
  for (const char* text : {"", "7", "{}", R"({"process":7})"}) {
    CHECK_THROWS_AS(controller.load_state(text), base::Error);
    CHECK_THROWS_AS(unstarted.load_state(text), base::Error);
  }
  unstarted.load_state(R"({"process":{"epochs":7}})");
  CHECK(unstarted.save_state() == R"({"process":{"epochs":7}})");
}

TEST_CASE("a process that cannot begin is reported with the reason") {
  const auto start = [](std::vector<std::string> command) {
    auto settings = settings_for(std::move(command));
    if (settings.command[0] == "sleep") settings.start_deadline = milliseconds(50);
    ProcessController controller(std::move(settings));
  };
  CHECK_THROWS_MATCHES(start({"/no/such/program"}), std::runtime_error,
                       MessageMatches(ContainsSubstring("cannot start /no/such/program")));
  CHECK_THROWS_MATCHES(start({"sh", "-c", "exit 3"}), std::runtime_error,
                       MessageMatches(ContainsSubstring("it has ended")));
  CHECK_THROWS_MATCHES(start({"sleep", "600"}), std::runtime_error,
                       MessageMatches(ContainsSubstring("it does not answer in time; its process: signal 9")));
}

TEST_CASE("whatever a process sends that it must not, there is no decision, and the reason") {
  CHECK_THAT(failure_of(going_wrong("    os.kill(os.getpid(), signal.SIGKILL)")), ContainsSubstring("it has ended"));
  CHECK_THAT(failure_of(going_wrong("    raise SystemExit(3)")), ContainsSubstring("it has ended"));
  CHECK_THAT(failure_of(going_wrong("    run.socket.sendall(b'\\xff' * 1000 + b'\\n')")),
             ContainsSubstring("not a signed message"));
  CHECK_THAT(failure_of(going_wrong("    while True: run.socket.sendall(b'x' * 65536)")),
             ContainsSubstring("a line without an end"));
  CHECK_THAT(failure_of(going_wrong("    run.key = bytes(32); answer()")), ContainsSubstring("signature is invalid"));
  CHECK_THAT(failure_of(going_wrong("    cull(); cull()\n    run.send('answer', {'number': number, 'commands': 2})")),
             ContainsSubstring("nonce_replayed"));
  CHECK_THAT(failure_of(going_wrong("    number += 1; answer()")), ContainsSubstring("was not asked"));
  CHECK_THAT(failure_of(going_wrong("    run.send('answer', {'number': number, 'problem': 'no idea'})")),
             ContainsSubstring("no idea"));
  CHECK_THAT(failure_of(going_wrong("    time.time_ns = lambda: 1\n    cull()\n"
                                    "    run.send('answer', {'number': number, 'commands': 1})")),
             ContainsSubstring("stale_command"));
}

TEST_CASE("an answer in pieces is one answer; a second one is dropped when the next question is asked") {
  const std::string in_pieces =
      "    sent = []\n"
      "    class Pieces:\n"
      "        def sendall(self, data): sent.append(data)\n"
      "    socket, run.socket = run.socket, Pieces()\n"
      "    answer()\n"
      "    for byte in sent[0]: socket.send(bytes([byte])); time.sleep(1e-4)\n"
      "    run.socket = socket\n"
      "    answer()";
  ProcessController controller(settings_for(going_wrong(in_pieces)));
  DecidedRun run;
  CHECK(controller.decide(run.now).reason == "answer 1");
  CHECK(controller.decide(run.now).reason == "answer 2");
  CHECK(value_of(controller.metrics(), "tamiyo.process.dropped_answers_total") == 1);
  CHECK(value_of(controller.metrics(), "tamiyo.process.starts_total") == 1);
}

TEST_CASE("a lost process is started again and goes on from the last state, later and later") {
  const test::TemporaryFolder folder;
  const std::string mark = folder / "lost";
  // Lost at each question until the mark is there; then it answers with the state that it was asked with.
  const auto command =
      going_wrong(fmt::format("    if not os.path.exists('{}'): os._exit(3)\n"
                              "    run.send('answer', {{'number': number, 'state': question['state']}})",
                              mark));
  const auto time = std::make_shared<base::ManualTime>();
  auto settings = settings_for(command);
  ProcessController controller(settings, base::Clock(time));
  controller.load_state(R"({"process":{"epochs":7}})");
  DecidedRun run;
  CHECK_THROWS_MATCHES(controller.decide(run.now), std::runtime_error, MessageMatches(ContainsSubstring("has ended")));
  CHECK_THROWS_MATCHES(controller.decide(run.now), std::runtime_error, MessageMatches(ContainsSubstring("has ended")));
  CHECK_THROWS_MATCHES(controller.decide(run.now), std::runtime_error,
                       MessageMatches(ContainsSubstring("was lost 2 times in a row and is started again in 100ms")));
  time->advance(milliseconds(100));
  std::ofstream{mark};
  CHECK_NOTHROW(controller.decide(run.now));
  CHECK(controller.save_state() == R"({"process":{"epochs":7}})");
  CHECK(value_of(controller.metrics(), "tamiyo.process.starts_total") == 3);
}

TEST_CASE("one of our own that is lost with each decision is started again later and later, too") {
  auto settings =
      settings_for(going_wrong("    if question.get('observation'): os._exit(3)\n"
                               "    answer()"));
  settings.state = StateForm::kOwn;
  const auto time = std::make_shared<base::ManualTime>();
  ProcessController controller(settings, base::Clock(time));
  for (int loss = 1; loss <= 2; ++loss) {
    controller.load_state("{}");
    CHECK_THAT(failure_of(controller), ContainsSubstring("has ended"));
  }
  CHECK_THROWS_MATCHES(controller.load_state("{}"), std::runtime_error,
                       MessageMatches(ContainsSubstring("was lost 2 times in a row and is started again in 100ms")));
  time->advance(milliseconds(100));
  CHECK_NOTHROW(controller.load_state("{}"));
}

TEST_CASE("one of our own that rejects a state goes on from the one that it had") {
  auto settings = settings_for(
      going_wrong("    problem = 'of another policy' if 'foreign' in question['state'] else ''\n"
                  "    run.send('answer', {'number': number, 'problem': problem, 'state': question['state']})"));
  settings.state = StateForm::kOwn;
  ProcessController controller(settings);
  controller.load_state(R"({"epochs":7})");
  CHECK_THROWS_MATCHES(controller.load_state(R"({"foreign":1})"), base::Error,
                       MessageMatches(ContainsSubstring("of another policy")));
  CHECK_NOTHROW(controller.decide(DecidedRun().now));
  CHECK(controller.save_state() == R"({"epochs":7})");
}

TEST_CASE("with a controller ends its process, and all that this one has started") {
  const test::TemporaryFolder folder;
  const std::string file = folder / "child";
  const auto command = going_wrong("    answer()", fmt::format("child = os.fork()\n"
                                                               "if child == 0: time.sleep(600)\n"
                                                               "open('{}', 'w').write(str(child))",
                                                               file));
  pid_t child = 0;
  {
    ProcessController controller(settings_for(command));
    controller.decide(DecidedRun().now);
    std::ifstream(file) >> child;
  }
  REQUIRE(child > 0);
  CHECK(test::comes_to_end(child));
}

TEST_CASE("the service waits no longer than its deadline for a process that hangs, and goes on with the next one") {
  auto settings = settings_for(going_wrong("    time.sleep(600)"));
  settings.deadline = milliseconds(100);
  auto controller = std::make_unique<ProcessController>(settings);
  const auto& process = *controller;
  ServiceSettings service_settings;
  service_settings.breaker.failure_threshold = 2;
  service_settings.breaker.open_time = std::chrono::hours(1);
  PolicyService service(std::make_unique<Consultation>(std::move(controller), base::Clock(), milliseconds(100)),
                        service_settings, base::Clock());
  service.after_each(
      [&](ServiceReport& report) { std::ranges::move(process.metrics(), std::back_inserter(report.metrics)); });
  DecidedRun run;
  const auto first = service.evaluate(run.now);
  CHECK(first.evaluation.answer.kind == Kind::kLate);
  CHECK(first.evaluation.answer.decision.commands.empty());
  CHECK(first.evaluation.answer.latency_ms >= 100);
  const auto second = service.evaluate(run.now);
  CHECK((second.evaluation.answer.kind == Kind::kLate || second.evaluation.answer.kind == Kind::kBusy ||
         second.evaluation.answer.kind == Kind::kFailed));
  CHECK(value_of(second.metrics, "tamiyo.breaker.inference_state") == static_cast<double>(BreakerState::kOpen));
  CHECK(service.evaluate(run.now).evaluation.answer.kind == Kind::kBreakerOpen);
}

}  // namespace esper::tamiyo::process_controller_test
