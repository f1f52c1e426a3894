#include "tamiyo/service/consultation.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/fault.h"
#include "support/patience.h"
#include "support/scripted_controller.h"
#include "tamiyo/heuristic.h"
#include "unit/tamiyo/simulated_run.h"

namespace esper::test::consultation_test {

using tamiyo::Answer;
using tamiyo::Consultation;
using tamiyo::Pace;

namespace {

using leyline::Decision;
using leyline::Observation;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = Answer::Kind;

Observation after_epoch(std::uint32_t epoch) {
  Observation seen;
  seen.current_epoch = epoch;
  return seen;
}

Decision answer_for(const Observation& seen) { return {{}, "epoch " + std::to_string(seen.current_epoch)}; }

// Stands still until it is opened.
struct Barrier {
  std::promise<void> promise;
  std::shared_future<void> opened = promise.get_future().share();
  void open() { promise.set_value(); }
};

Answer ask(Consultation& consultation, const Observation& seen) {
  consultation.begin(seen);
  return consultation.finish();
}

// Asks until the controller is free again.
Answer ask_when_free(Consultation& consultation, const Observation& seen) {
  Answer answer = ask(consultation, seen);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (answer.kind == Kind::kBusy && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(1));
    answer = ask(consultation, seen);
  }
  return answer;
}

class Faulty final : public leyline::Controller {
 public:
  explicit Faulty(std::function<void(int call)> saving) : saving_(std::move(saving)) {}
  Decision decide(const Observation& seen) override {
    decided_ = true;
    return answer_for(seen);
  }
  std::string save_state() const override {
    if (decided_) saving_(++calls_);
    return "{\"calls\":" + std::to_string(calls_) + "}";
  }
  void load_state(const std::string& state) override {
    constexpr std::string_view kBegin = "{\"calls\":";
    if (!state.starts_with(kBegin)) throw std::runtime_error("not one of mine");
    calls_ = std::stoi(state.substr(kBegin.size()));
  }

 private:
  std::function<void(int)> saving_;
  bool decided_ = false;
  mutable int calls_ = 0;
};

// Its state is how often it was asked.
class Counting final : public leyline::Controller {
 public:
  explicit Counting(std::function<void(const Observation&)> before) : before_(std::move(before)) {}
  Decision decide(const Observation& seen) override {
    before_(seen);
    return {{}, "question " + std::to_string(++asked_)};
  }
  std::string save_state() const override { return "{\"asked\":" + std::to_string(asked_) + "}"; }
  void load_state(const std::string& text) override { asked_ = std::stoi(text.substr(text.find(':') + 1)); }

 private:
  std::function<void(const Observation&)> before_;
  int asked_ = 0;
};

// Another's decisions; after each, something happens.
class Slow final : public leyline::Controller {
 public:
  Slow(std::unique_ptr<leyline::Controller> other, std::function<void()> after)
      : other_(std::move(other)), after_(std::move(after)) {}
  Decision decide(const Observation& seen) override {
    auto decision = other_->decide(seen);
    after_();
    return decision;
  }
  std::string save_state() const override { return other_->save_state(); }
  void load_state(const std::string& text) override { other_->load_state(text); }

 private:
  std::unique_ptr<leyline::Controller> other_;
  std::function<void()> after_;
};

}  // namespace

TEST_CASE("an answer in time is the decision, with its latency and the state after it") {
  Consultation consultation(scripted(answer_for), base::Clock(), seconds(160));
  CHECK(consultation.state() == "{}");
  for (std::uint32_t epoch = 1; epoch <= 3; ++epoch) {
    const auto answer = ask(consultation, after_epoch(epoch));
    CHECK(answer.kind == Kind::kDecided);
    CHECK(answer.decision.reason == "epoch " + std::to_string(epoch));
    CHECK(answer.latency_ms > 0);
    CHECK(consultation.state() == "{\"epoch\":" + std::to_string(epoch) + "}");
  }
}

TEST_CASE("an immediate controller runs in this thread, and an answer past the deadline is also dropped") {
  const auto time = std::make_shared<base::ManualTime>();
  const auto caller = std::this_thread::get_id();
  const auto decide = [&](const Observation& seen) {
    CHECK(std::this_thread::get_id() == caller);
    time->advance(seconds(seen.current_epoch));
    return answer_for(seen);
  };
  Consultation consultation(scripted(decide), base::Clock(time), seconds(2), Pace::kImmediate);
  const auto quick = ask(consultation, after_epoch(1));
  CHECK(quick.kind == Kind::kDecided);
  CHECK(quick.latency_ms == 1000);
  CHECK(consultation.state() == "{\"epoch\":1}");
  CHECK(ask(consultation, after_epoch(3)).kind == Kind::kLate);
}

TEST_CASE("what an immediate controller throws is an answer that failed") {
  const auto decide = [](const Observation&) -> Decision { throw std::runtime_error("no idea"); };
  Consultation consultation(scripted(decide), base::Clock(), seconds(2), Pace::kImmediate);
  const auto answer = ask(consultation, after_epoch(1));
  CHECK(answer.kind == Kind::kFailed);
  CHECK(answer.problem == "no idea");
}

TEST_CASE("a controller that does not answer costs the deadline and no more") {
  Barrier barrier;
  Consultation consultation(scripted([opened = barrier.opened](const Observation& seen) {
                              opened.wait();
                              return answer_for(seen);
                            }),
                            base::Clock(), milliseconds(20));
  const auto answer = ask(consultation, after_epoch(1));  // comes back while the controller stands still
  CHECK(answer.kind == Kind::kLate);
  CHECK(answer.problem == "no decision within 20ms");
  CHECK(answer.decision.commands.empty());
  CHECK(answer.latency_ms >= 20);
  barrier.open();
}

TEST_CASE("a late answer is dropped; the controller is not asked again before it came; then it works again") {
  Barrier barrier;
  Consultation consultation(scripted([opened = barrier.opened](const Observation& seen) {
                              if (seen.current_epoch == 1) opened.wait();
                              return answer_for(seen);
                            }),
                            base::Clock(), milliseconds(500));
  CHECK(ask(consultation, after_epoch(1)).kind == Kind::kLate);
  const auto busy = ask(consultation, after_epoch(2));
  CHECK(busy.kind == Kind::kBusy);
  CHECK(busy.latency_ms == 0);
  CHECK(consultation.state() == "{}");
  barrier.open();
  const auto answer = ask_when_free(consultation, after_epoch(3));
  CHECK(answer.kind == Kind::kDecided);
  CHECK(answer.decision.reason == "epoch 3");
  CHECK(consultation.state() == "{\"epoch\":3}");
  CHECK(consultation.figures().late_answers == 1);
}

TEST_CASE("before its next question the controller has forgotten the one that it answered too late") {
  Barrier barrier;
  auto counting = std::make_unique<Counting>([opened = barrier.opened](const Observation& seen) {
    if (seen.current_epoch == 2) opened.wait();
  });
  Consultation consultation(std::move(counting), base::Clock(), milliseconds(500));
  CHECK(ask(consultation, after_epoch(1)).decision.reason == "question 1");
  CHECK(ask(consultation, after_epoch(2)).kind == Kind::kLate);
  barrier.open();
  const auto answer = ask_when_free(consultation, after_epoch(3));
  CHECK(answer.decision.reason == "question 2");
  CHECK(consultation.state() == "{\"asked\":2}");
  CHECK(consultation.figures().late_answers == 1);
}

TEST_CASE("so has one whose answer is taken for late") {
  Consultation consultation(std::make_unique<Counting>([](const Observation&) {}), base::Clock(), seconds(160));
  CHECK(ask(consultation, after_epoch(1)).kind == Kind::kDecided);
  base::fault::arm("tamiyo.late");
  CHECK(ask(consultation, after_epoch(2)).kind == Kind::kLate);
  base::fault::disarm_all();
  CHECK(consultation.state() == "{\"asked\":1}");
  CHECK(ask(consultation, after_epoch(3)).decision.reason == "question 2");
}

TEST_CASE("the heuristic does not take the germination of a late decision for one that was refused") {
  const auto time = std::make_shared<base::ManualTime>();
  config::HeuristicConfig config;
  config.window_epochs = 1;
  bool is_slow = false;
  auto heuristic = std::make_unique<tamiyo::HeuristicController>(config, config::GrowthConfig{}, 1000);
  const auto* asked = heuristic.get();
  Consultation consultation(std::make_unique<Slow>(std::move(heuristic),
                                                   [&] {
                                                     if (is_slow) time->advance(seconds(9));
                                                   }),
                            base::Clock(time), seconds(2), Pace::kImmediate);
  tamiyo::SimulatedRun run({"good"});
  for (int epoch = 1; epoch < 5; ++epoch) {
    run.end_epoch();
    REQUIRE(ask(consultation, run.now).decision.commands.empty());
  }
  const auto before = consultation.state();
  is_slow = true;
  run.end_epoch();
  CHECK(ask(consultation, run.now).kind == Kind::kLate);
  CHECK(asked->save_state().find("\"germinations\":1") != std::string::npos);  // it had decided to
  CHECK(consultation.state() == before);

  is_slow = false;
  run.end_epoch();
  const auto answer = ask(consultation, run.now);
  CHECK(answer.decision.reason.find("did not germinate") == std::string::npos);
  REQUIRE_FALSE(answer.decision.commands.empty());
  CHECK(answer.decision.commands.front().seed_operation->operation == leyline::SeedOperation::kGerminate);
  CHECK(consultation.state().find("\"penalties\":{}") != std::string::npos);
}

TEST_CASE("between question and answer the state is the one before, and what came meanwhile is in time") {
  Consultation consultation(scripted(answer_for), base::Clock(), std::chrono::nanoseconds(1));
  Answer answer;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  // The deadline has passed long before each finish(); the pauses grow until the answer comes within one.
  for (auto pause = milliseconds(1); answer.kind != Kind::kDecided || answer.decision.reason.empty(); pause *= 2) {
    REQUIRE(std::chrono::steady_clock::now() < end);
    const auto before = consultation.state();
    consultation.begin(after_epoch(1));
    CHECK(consultation.state() == before);
    std::this_thread::sleep_for(pause);
    CHECK(consultation.state() == before);
    answer = consultation.finish();
  }
  CHECK(answer.decision.reason == "epoch 1");
  CHECK(consultation.state() == "{\"epoch\":1}");
}

TEST_CASE("a controller that throws has failed this once") {
  Consultation consultation(scripted([](const Observation& seen) -> Decision {
                              if (seen.current_epoch == 1) throw std::runtime_error("no idea");
                              if (seen.current_epoch == 2) throw 7;
                              return answer_for(seen);
                            }),
                            base::Clock(), seconds(160));
  CHECK(ask(consultation, after_epoch(1)).problem == "no idea");
  const auto unknown = ask(consultation, after_epoch(2));
  CHECK(unknown.kind == Kind::kFailed);
  CHECK(unknown.problem == "unknown failure");
  CHECK(unknown.latency_ms > 0);
  CHECK(consultation.state() == "{}");
  CHECK(ask(consultation, after_epoch(3)).kind == Kind::kDecided);
}

TEST_CASE("a controller that cannot say its state has failed, and the state before stands") {
  bool fails = true;  // once
  Consultation consultation(std::make_unique<Faulty>([&](int call) {
                              if (call == 2 && std::exchange(fails, false)) throw std::runtime_error("cannot save");
                            }),
                            base::Clock(), seconds(160));
  CHECK(ask(consultation, after_epoch(1)).kind == Kind::kDecided);
  const auto failed = ask(consultation, after_epoch(2));
  CHECK(failed.kind == Kind::kFailed);
  CHECK(failed.problem == "cannot save");
  CHECK(failed.decision.reason.empty());
  CHECK(consultation.state() == "{\"calls\":1}");
  CHECK(ask(consultation, after_epoch(3)).kind == Kind::kDecided);
  CHECK(consultation.state() == "{\"calls\":2}");  // as if the call that failed had not been
}

TEST_CASE("a saved state is restored in the controller, and its rejection is reported to the caller") {
  Consultation consultation(scripted(answer_for), base::Clock(), seconds(160));
  consultation.restore("{\"epoch\":41}");
  CHECK(consultation.state() == "{\"epoch\":41}");
  Consultation refusing(std::make_unique<Faulty>([](int) {}), base::Clock(), seconds(160));
  CHECK_THROWS_AS(refusing.restore("{}"), std::runtime_error);
  CHECK(refusing.state() == "{\"calls\":0}");
}

TEST_CASE("a consultation ends when its controller has thought to the end") {
  const auto alive = std::make_shared<int>(1);
  {
    Consultation consultation(scripted([alive](const Observation& seen) {
                                std::this_thread::sleep_for(milliseconds(100));
                                return answer_for(seen);
                              }),
                              base::Clock(), milliseconds(1));
    CHECK(ask(consultation, after_epoch(1)).kind == Kind::kLate);
  }
  CHECK(alive.use_count() == 1);
}

TEST_CASE("a consultation ends soon, though its controller is stuck, and the controller is freed later") {
  Barrier barrier;
  const auto alive = std::make_shared<int>(1);
  {
    Consultation consultation(scripted([alive, opened = barrier.opened](const Observation& seen) {
                                opened.wait();
                                return answer_for(seen);
                              }),
                              base::Clock(), milliseconds(10));
    CHECK(ask(consultation, after_epoch(1)).kind == Kind::kLate);
  }
  CHECK(alive.use_count() > 1);  // the controller still stands still
  barrier.open();
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (alive.use_count() > 1 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(1));
  CHECK(alive.use_count() == 1);
}

TEST_CASE("an idle controller is gone when the consultation is") {
  const auto alive = std::make_shared<int>(1);
  {
    Consultation consultation(scripted([alive](const Observation& seen) { return answer_for(seen); }), {}, seconds(1));
  }
  CHECK(alive.use_count() == 1);
}

TEST_CASE("questions without an answer in time are counted") {
  Barrier barrier;
  Consultation consultation(scripted([&](const Observation& seen) -> Decision {
                              if (seen.current_epoch == 2) barrier.opened.wait();
                              if (seen.current_epoch == 4) throw std::runtime_error("no idea");
                              return answer_for(seen);
                            }),
                            base::Clock(), milliseconds(500));
  const auto& figures = consultation.figures();
  CHECK(ask(consultation, after_epoch(1)).kind == Kind::kDecided);
  CHECK(figures.timeouts == 0);
  CHECK(ask(consultation, after_epoch(2)).kind == Kind::kLate);
  CHECK(figures.timeouts == 1);
  CHECK(figures.last_timeout_ms >= 500);
  CHECK(ask(consultation, after_epoch(3)).kind == Kind::kBusy);
  CHECK(figures.timeouts == 2);
  CHECK(figures.last_timeout_ms >= 500);  // that of the one that was asked
  barrier.open();
  CHECK(ask_when_free(consultation, after_epoch(3)).kind == Kind::kDecided);
  const auto timeouts = figures.timeouts;
  CHECK(ask(consultation, after_epoch(4)).kind == Kind::kFailed);
  CHECK(figures.timeouts == timeouts);
}

}  // namespace esper::test::consultation_test
