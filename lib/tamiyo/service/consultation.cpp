#include "tamiyo/service/consultation.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/fault.h"
#include "base/text/json_fields.h"
#include "base/text/rounding.h"
#include "tamiyo/service/answer_box.h"

namespace esper::tamiyo {

// A network that is thinking is done by then, and what it uses is not destroyed under it when the process ends.
constexpr auto kLongestEnd = std::chrono::seconds(1);

// Outlives a Consultation whose controller hangs.
struct Consultation::Shared {
  struct Question {
    std::uint64_t number = 0;
    base::Duration begin{};
    leyline::Observation observation;
  };

  std::unique_ptr<leyline::Controller> controller;
  base::Clock clock;
  AnswerBox box;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::optional<Question> question;
  std::string state;      // after the last decision that was taken
  bool is_ahead = false;  // the controller has decided since, which was dropped
  bool stopping = false, stopped = false;

  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return stopping || question; });
      if (stopping) break;
      const Question asked = *std::exchange(question, std::nullopt);
      lock.unlock();
      std::string after;
      Answer made = decide(asked.observation, after);
      made.latency_ms = base::milliseconds(clock.now() - asked.begin);
      lock.lock();
      const bool is_decided = made.kind == Answer::Kind::kDecided;
      const bool is_taken = box.put(asked.number, std::move(made)) == Arrival::kTaken;
      if (is_decided) keep(std::move(after), is_taken);
    }
    stopped = true;
    changed.notify_all();
  }

  void keep(std::string after, bool is_taken) {
    if (is_taken) state = std::move(after);
    is_ahead = !is_taken;
  }

  // `after`: the controller's state after the decision. A decision whose state cannot be saved is discarded: a resumed
  // run would not know it.
  Answer decide(const leyline::Observation& observation, std::string& after) {
    Answer made;
    const auto failed = [](const std::string& why) { return Answer{Answer::Kind::kFailed, {}, why, 0}; };
    try {
      if (base::fault::hit("tamiyo.decide")) return failed("fault point tamiyo.decide");
      if (is_ahead) controller->load_state(state);
      is_ahead = true;  // until its answer is taken
      made.decision = controller->decide(observation);
      after = controller->save_state();
      return made;
    } catch (const std::exception& error) {
      return failed(base::plain_reason(error));
    } catch (...) {
      return failed("unknown failure");
    }
  }
};

Consultation::Consultation(std::unique_ptr<leyline::Controller> controller, base::Clock clock, base::Duration deadline,
                           Pace pace)
    : shared_(std::make_shared<Shared>()), clock_(std::move(clock)), deadline_(deadline) {
  shared_->state = controller->save_state();
  shared_->controller = std::move(controller);
  shared_->clock = clock_;
  if (pace == Pace::kMayTakeLong) thread_ = std::thread([shared = shared_] { shared->work(); });
}

Consultation::~Consultation() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  const bool stopped = shared_->changed.wait_for(lock, kLongestEnd, [this] { return shared_->stopped; });
  lock.unlock();
  stopped ? thread_.join() : thread_.detach();
}

Answer Consultation::late() const {
  return {Answer::Kind::kLate, {}, "no decision within " + base::to_string(deadline_), 0};
}

Answer Consultation::decide_inline(const leyline::Observation& observation) {
  const auto begin = clock_.now();
  std::string after;
  Answer answer = shared_->decide(observation, after);
  const auto took = clock_.now() - begin;
  const bool is_late = took > deadline_;
  if (answer.kind == Answer::Kind::kDecided) shared_->keep(std::move(after), !is_late);
  if (is_late) {
    answer = late();
    ++figures_.late_answers;
  }
  answer.latency_ms = base::milliseconds(took);
  return answer;
}

void Consultation::begin(const leyline::Observation& observation) {
  ESPER_CHECK(!asked_, "a controller is asked one question at a time");
  Asked asked{clock_.now(), state()};
  if (!thread_.joinable()) {
    asked.answer = decide_inline(observation);
  } else {
    figures_.late_answers = shared_->box.figures().late;
    if (!hand_over(observation, asked.begin)) {
      asked.answer = Answer{Answer::Kind::kBusy, {}, "an earlier decision is still running", 0};
    }
  }
  asked_ = std::move(asked);
}

Answer Consultation::finish() {
  ESPER_CHECK(asked_, "finish() follows begin()");
  auto asked = *std::exchange(asked_, std::nullopt);
  Answer answer = asked.answer ? *std::move(asked.answer) : wait_for_answer(asked);
  using Kind = Answer::Kind;
  if (answer.kind == Kind::kLate || answer.kind == Kind::kBusy) ++figures_.timeouts;
  if (answer.kind == Kind::kLate) figures_.last_timeout_ms = answer.latency_ms;
  return answer;
}

// False where an earlier question has no answer yet.
bool Consultation::hand_over(const leyline::Observation& observation, base::Duration begin) {
  const auto number = shared_->box.open();
  if (!number) return false;
  const std::lock_guard lock(shared_->mutex);
  shared_->question = Shared::Question{*number, begin, observation};
  shared_->changed.notify_all();
  return true;
}

Answer Consultation::wait_for_answer(const Asked& asked) {
  auto answered = shared_->box.wait_until(clock_, asked.begin + deadline_);
  if (answered && !base::fault::hit("tamiyo.late")) return *std::move(answered);
  if (answered) {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_ahead = shared_->is_ahead || answered->kind == Answer::Kind::kDecided;
    shared_->state = asked.state;
  }
  Answer answer = late();
  answer.latency_ms = base::milliseconds(clock_.now() - asked.begin);
  return answer;
}

std::string Consultation::state() const {
  if (asked_) return asked_->state;
  const std::lock_guard lock(shared_->mutex);
  return shared_->state;
}

void Consultation::restore(const std::string& state) {
  const std::lock_guard lock(shared_->mutex);
  shared_->controller->load_state(state);
  shared_->state = state;
}

}  // namespace esper::tamiyo
