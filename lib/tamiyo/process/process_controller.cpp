#include "tamiyo/process/process_controller.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/fault.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::tamiyo {

using base::Duration;
using leyline::Decision;
using leyline::Observation;
using namespace leyline::literals;

namespace {

// Python closes the channel a while before its process has ended.
constexpr Duration kOwnEnd = std::chrono::milliseconds(500);

Decision decision_from(ControllerReply reply, const Observation& observation) {
  auto& answer = reply.answer;
  // When it was issued, by the clock, has served its purpose: as a decision it belongs to its observation, like those
  // of controllers in this process, and is the same when it is made again.
  for (auto& command : reply.commands) command.issued_at_ns = observation.timestamp_ns;
  return {std::move(reply.commands), std::move(answer.reason), std::move(answer.warnings), std::move(answer.assessment),
          std::move(answer.details)};
}

}  // namespace

ProcessController::ProcessController(ProcessSettings settings, base::Clock clock)
    : settings_(std::move(settings)), clock_(std::move(clock)), reader_(clock_) {
  start(clock_.now() + settings_.start_deadline);
}

// The first state is the one that it begins with.
void ProcessController::start(Duration until) {
  ++starts_;
  const auto key = crypto::new_key();
  try {
    process_ = std::make_unique<ControllerProcess>(settings_.command, key);
  } catch (const std::system_error& error) {
    lose(error.what());
  }
  reader_.begin(key);
  auto ready = ask(start_text(settings_.start), 0, until).answer;
  if (!ready.problem.empty()) lose(fmt::format("it cannot begin: {}", ready.problem));
  if (starts_ == 1) state_ = std::move(ready.state);
}

void ProcessController::check_pause() const {
  const auto pause = backoff_.not_before - clock_.now();
  if (pause <= Duration(0)) return;
  throw std::runtime_error(fmt::format("its process was lost {} times in a row and is started again in {}",
                                       backoff_.losses, base::to_string(pause)));
}

void ProcessController::start_again(Duration until) {
  check_pause();
  start(clock_.now() + settings_.start_deadline);
  if (clock_.now() >= until) throw std::runtime_error("its process was started again, and was ready too late");
}

void ProcessController::lose(const std::string& reason, Duration grace) {
  const auto how = process_ ? process_->end(grace) : "";
  process_.reset();
  record_loss(backoff_, clock_.now());
  throw std::runtime_error(how.empty() ? reason : fmt::format("{}; its process: {}", reason, how));
}

ControllerReply ProcessController::ask(const std::string& text, std::uint64_t number, Duration until) {
  using base::LineChannel;
  auto& channel = process_->channel();
  if (base::fault::hit("tamiyo.process_killed")) ::kill(-process_->process(), SIGKILL);
  const auto sent = channel.send(text, until - clock_.now());
  if (sent == LineChannel::Send::kTimeout) lose("it does not read its question");
  while (true) {
    std::string line;
    // One that has ended may have answered before.
    const auto read = channel.read_line(line, until - clock_.now());
    if (read == LineChannel::Read::kTimeout) lose("it does not answer in time");
    if (read != LineChannel::Read::kLine) {
      lose("it has ended, or sends a line without an end", std::min(kOwnEnd, (until - clock_.now()) / 2));
    }
    auto taken = reader_.take(line, number);
    if (!taken) lose(taken.error());
    if (*taken) return **std::move(taken);
    if (clock_.now() >= until) lose("it sends other lines, but no answer in time");
  }
}

ControllerReply ProcessController::ask_question(const Observation* observation, const nlohmann::json& state,
                                                Duration until) {
  ControllerQuestion question;
  question.number = ++asked_;
  question.state = state;
  if (observation != nullptr) question.observation = *observation;
  return ask(text_of(question), question.number, until);
}

Decision ProcessController::decide(const Observation& observation) {
  const auto until = clock_.now() + settings_.deadline;
  try {
    if (!process_) start_again(until);
    auto reply = ask_question(&observation, state_, until);
    publish_metrics();
    record_answer(backoff_);
    if (!reply.answer.problem.empty()) throw std::runtime_error(reply.answer.problem);
    state_ = std::move(reply.answer.state);
    return decision_from(std::move(reply), observation);
  } catch (...) {
    publish_metrics();
    throw;
  }
}

std::string ProcessController::save_state() const { return process_state_text(state_, settings_.state); }

void ProcessController::load_state(const std::string& text) {
  auto state = read_process_state(text, settings_.state);
  if (settings_.state == StateForm::kOwn) check_state(state);
  reader_.forget_ids();
  state_ = std::move(state);
}

void ProcessController::check_state(const nlohmann::json& state) {
  using base::Error, base::ExitCode;
  if (!process_) check_pause();
  std::string problem;
  try {
    const auto until = clock_.now() + settings_.start_deadline;
    if (!process_) start(until);
    problem = ask_question(nullptr, state, until).answer.problem;
  } catch (const std::runtime_error& error) {
    throw Error(
        ExitCode::kPolicy,
        fmt::format("the policy's process cannot continue from its state: {}; resume the run again, with a longer "
                    "safety.policy_start_deadline if it was not ready in time",
                    error.what()));
  }
  if (!problem.empty()) throw Error(ExitCode::kCheckpoint, problem);
}

void ProcessController::publish_metrics() {
  using leyline::metric;
  auto all = verifier_metrics(reader_.verifier());
  all.push_back(metric("tamiyo.process.dropped_answers_total"_metric, static_cast<double>(reader_.dropped())));
  all.push_back(metric("tamiyo.process.starts_total"_metric, static_cast<double>(starts_)));
  const std::lock_guard lock(mutex_);
  metrics_ = std::move(all);
}

std::vector<leyline::MetricValue> ProcessController::metrics() const {
  const std::lock_guard lock(mutex_);
  return metrics_;
}

}  // namespace esper::tamiyo
