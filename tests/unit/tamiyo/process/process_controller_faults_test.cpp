// Controllers that hang, die or replay what they sent: nothing of it is taken, training waits no longer than the
// deadline, and what comes after is as if it had not been.
#include <signal.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "support/patience.h"
#include "support/process_end.h"
#include "support/temporary_folder.h"
#include "tamiyo/service/policy_service.h"
#include "unit/tamiyo/controller_program.h"

namespace esper::tamiyo::process_controller_faults_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Kind = Answer::Kind;
using std::chrono::milliseconds;

constexpr milliseconds kShort(50);

std::unique_ptr<PolicyService> service_for(ProcessSettings settings, ServiceSettings service, base::Clock clock,
                                           Pace pace) {
  const auto deadline = settings.deadline;
  auto controller = std::make_unique<ProcessController>(std::move(settings));
  const auto& process = *controller;
  auto made = std::make_unique<PolicyService>(
      std::make_unique<Consultation>(std::move(controller), clock, deadline, pace), service, clock);
  made->after_each(
      [&process](ServiceReport& report) { std::ranges::move(process.metrics(), std::back_inserter(report.metrics)); });
  return made;
}

// Writes its process id there before it is ready.
std::string writes_id(const std::string& file) {
  return fmt::format("with open('{}', 'w') as file: file.write(str(os.getpid()))", file);
}

pid_t id_in(const std::string& file) {
  pid_t id = 0;
  std::ifstream(file) >> id;
  REQUIRE(id > 0);
  return id;
}

// Not as a zombie either.
bool is_gone(pid_t process) { return ::kill(process, 0) < 0 && errno == ESRCH; }

bool has_event(const ServiceReport& report, std::string_view name) {
  return std::ranges::find(report.evaluation.events, name, &leyline::TelemetryEvent::description) !=
         report.evaluation.events.end();
}

}  // namespace

TEST_CASE("a process that says too little, too much or does not listen is ended at its deadline") {
  CHECK_THAT(failure_of(going_wrong("    time.sleep(600)"), kShort), ContainsSubstring("does not answer in time"));
  CHECK_THAT(failure_of(going_wrong("    run.socket.sendall(b'0' * 64 + b' {'); time.sleep(600)"), kShort),
             ContainsSubstring("does not answer in time"));
  // Either that it does not answer, or that it sends other lines: where the deadline passes decides.
  CHECK_THAT(failure_of(going_wrong("    while True: run.send('answer', {'number': 0})"), kShort),
             ContainsSubstring("answer in time"));
  const std::string deaf = "run = controller.Run(); run.lines.readline()\nrun.send('answer', {'number': 0})\n";
  ProcessController controller(settings_for(going_wrong("", deaf + "time.sleep(600)"), kShort));
  controller.load_state(nlohmann::json{{"process", {{"text", std::string(4 << 20, 'x')}}}}.dump());
  CHECK_THAT(failure_of(controller), ContainsSubstring("it does not read its question"));
}

TEST_CASE("a process that closes its channel as it ends is reported with its own exit status") {
  CHECK_THAT(failure_of(going_wrong("    run.lines.close(); run.socket.close(); time.sleep(0.02); os._exit(3)")),
             ContainsSubstring("its process: exit status 3"));
}

TEST_CASE("a killed process is noticed at the next question, leaves nothing behind, and the next one knows its state") {
  const test::TemporaryFolder folder;
  const std::string file = folder / "id";
  ProcessController controller(settings_for(going_wrong(
      "    run.send('answer', {'number': number, 'state': {'asked': question['state'].get('asked', 0) + 1}})",
      writes_id(file))));
  DecidedRun run;
  controller.decide(run.now);
  const auto first = id_in(file);
  ::kill(first, SIGKILL);
  CHECK_THAT(failure_of(controller), ContainsSubstring("its process: signal 9"));
  CHECK(is_gone(first));
  controller.decide(run.now);
  CHECK(id_in(file) != first);
  CHECK(controller.save_state() == R"({"process":{"asked":2}})");
  CHECK(value_of(controller.metrics(), "tamiyo.process.starts_total") == 2);
}

TEST_CASE("a process that is given up at its deadline is gone, and not only unheard") {
  const test::TemporaryFolder folder;
  const std::string file = folder / "id";
  ProcessController controller(settings_for(going_wrong("    time.sleep(600)", writes_id(file)), kShort));
  CHECK_THAT(failure_of(controller), ContainsSubstring("signal 9"));
  CHECK(is_gone(id_in(file)));
}

TEST_CASE("a command that was accepted once is not accepted again, neither from its process nor from the next one") {
  // The signed line is handed on in the state.
  ProcessController controller(
      settings_for(going_wrong("    class Kept:\n"
                               "        def sendall(self, data): self.data = data\n"
                               "    kept, socket = Kept(), run.socket\n"
                               "    run.socket = kept; cull(); run.socket = socket\n"
                               "    line = question['state'].get('line', kept.data.decode())\n"
                               "    socket.sendall(line.encode())\n"
                               "    run.send('answer', {'number': number, 'commands': 1, 'state': {'line': line}})")));
  CHECK(controller.decide(DecidedRun().now).commands.size() == 1);
  CHECK_THAT(failure_of(controller), ContainsSubstring("nonce_replayed"));
  CHECK_THAT(failure_of(controller), ContainsSubstring("signature is invalid"));
}

TEST_CASE("the service takes a failing process for a failing policy: the breaker opens, probes and closes") {
  const auto program = going_wrong(
      "    epoch = question['observation']['current_epoch']\n"
      "    if epoch == 3: os.kill(os.getpid(), signal.SIGKILL)\n"
      "    if epoch == 5: run.socket.sendall(b'rubbish\\n' * 1000); time.sleep(600)\n"
      "    if epoch == 4:\n"
      "        run.command('grow', 'GERMINATE', '', 'r0c1', 'no_such_blueprint')\n"
      "        run.send('answer', {'number': number, 'commands': 1})\n"
      "    else: answer()");
  const auto time = std::make_shared<base::ManualTime>();
  const ServiceSettings settings;
  const auto service = service_for(settings_for(program), settings, base::Clock(time), Pace::kImmediate);
  DecidedRun run;
  const auto evaluate = [&] {
    auto report = service->evaluate(run.now);
    ++run.now.current_epoch;
    CHECK(report.evaluation.answer.decision.commands.empty());
    return report;
  };
  REQUIRE(settings.breaker.failure_threshold == 3);
  const auto killed = evaluate();
  CHECK(killed.evaluation.answer.kind == Kind::kFailed);
  CHECK(has_event(killed, "tamiyo_runtime_fallback"));
  CHECK(has_event(evaluate(), "tamiyo_fallback_blueprint"));
  const auto rubbish = evaluate();
  CHECK_THAT(rubbish.evaluation.answer.problem, ContainsSubstring("not a signed message"));
  CHECK(value_of(rubbish.metrics, "tamiyo.breaker.inference_state") == static_cast<double>(BreakerState::kOpen));
  CHECK(evaluate().evaluation.answer.kind == Kind::kBreakerOpen);
  time->advance(settings.breaker.open_time);
  const auto probe = evaluate();
  CHECK(probe.evaluation.answer.kind == Kind::kDecided);
  CHECK(value_of(probe.metrics, "tamiyo.breaker.inference_state") == static_cast<double>(BreakerState::kClosed));
  CHECK(value_of(probe.metrics, "tamiyo.process.starts_total") == 3);
}

// A machine that other programs keep busy wakes a thread late, so the best of many attempts counts.
TEST_CASE("training waits for an answer, and for a process that is started again, at most 1 ms beyond the deadline") {
  constexpr int kAttempts = 50;
  constexpr milliseconds kDeadline(20);
  ServiceSettings never_opens;
  never_opens.breaker.failure_threshold = 1'000'000;
  const auto observation = DecidedRun().now;
  base::Duration beyond = base::Duration::max();
  for (int attempt = 0; attempt < kAttempts && beyond > milliseconds(1); ++attempt) {
    const test::TemporaryFolder folder;
    const std::string mark = folder / "started";
    const auto starts_once = fmt::format("if os.path.exists('{0}'): time.sleep(600)\nopen('{0}', 'w').close()", mark);
    const auto service = service_for(settings_for(going_wrong("    time.sleep(600)", starts_once), kDeadline),
                                     never_opens, base::Clock(), Pace::kMayTakeLong);
    base::Duration longest{};
    const base::Clock clock;
    const auto end = clock.now() + test::kPatience;
    for (int late = 0; late < 2;) {
      const auto begin = clock.now();
      REQUIRE(begin < end);
      const auto report = service->evaluate(observation);
      longest = std::max(longest, clock.now() - begin - kDeadline);
      const auto kind = report.evaluation.answer.kind;
      REQUIRE((kind == Kind::kLate || kind == Kind::kBusy));  // busy: the first process is being ended
      if (kind == Kind::kLate) ++late;
    }
    beyond = std::min(beyond, longest);
  }
  CHECK(beyond <= milliseconds(1));
}

}  // namespace esper::tamiyo::process_controller_faults_test
