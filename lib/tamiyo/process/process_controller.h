#pragma once
// A controller that runs in another process (docs/controller.md). Each question carries the state that the last answer
// left, so the process is a function of what it is asked: it can be lost at any time, and the one that is started in
// its place goes on as if nothing had happened. A process that does not answer in time, sends what it must not or ends
// is killed, and started again with the next question, later and later (restart_backoff.h).

#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "leyline/controller.h"
#include "leyline/telemetry/telemetry_packet.h"
#include "tamiyo/process/answer_reader.h"
#include "tamiyo/process/controller_process.h"
#include "tamiyo/process/process_state.h"
#include "tamiyo/process/restart_backoff.h"

namespace esper::tamiyo {

struct ProcessSettings {
  std::vector<std::string> command;                 // program and arguments
  nlohmann::json start = nlohmann::json::object();  // what it gets to know of the run
  StateForm state = StateForm::kOfUser;
  base::Duration deadline = std::chrono::seconds(2);         // of an answer
  base::Duration start_deadline = std::chrono::seconds(30);  // until it is ready
};

class ProcessController final : public leyline::Controller {
 public:
  // Starts the process and waits until it is ready. Throws std::runtime_error with the reason why it is not.
  explicit ProcessController(ProcessSettings settings, base::Clock clock = {});

  // Throws std::runtime_error where there is no decision; the state stays as it was.
  leyline::Decision decide(const leyline::Observation& observation) override;
  std::string save_state() const override;
  // Throws Error{kCheckpoint} for what is no such state, and where one of our own controllers cannot go on from it;
  // Error{kPolicy} where that one's process is lost meanwhile; std::runtime_error while that one is not started again.
  // The state then stays as it was.
  void load_state(const std::string& text) override;

  // As of the last question: kasmina.command_verifier.*, kasmina.nonce_ledger.*, tamiyo.process.*. Any thread.
  std::vector<leyline::MetricValue> metrics() const;

 private:
  void start(base::Duration until);
  // Throws std::runtime_error where it is too early to start a lost process again.
  void check_pause() const;
  void start_again(base::Duration until);
  ControllerReply ask(const std::string& text, std::uint64_t number, base::Duration until);
  ControllerReply ask_question(const leyline::Observation* observation, const nlohmann::json& state,
                               base::Duration until);
  void check_state(const nlohmann::json& state);
  // grace: in which it may end by itself, so that the reason has its own exit status.
  [[noreturn]] void lose(const std::string& reason, base::Duration grace = {});
  void publish_metrics();

  const ProcessSettings settings_;
  const base::Clock clock_;
  std::unique_ptr<ControllerProcess> process_;  // null: it was lost
  AnswerReader reader_;
  RestartBackoff backoff_;
  nlohmann::json state_ = nlohmann::json::object();
  std::uint64_t asked_ = 0;  // the number of the newest question
  std::int64_t starts_ = 0;
  mutable std::mutex mutex_;
  std::vector<leyline::MetricValue> metrics_;
};

}  // namespace esper::tamiyo
