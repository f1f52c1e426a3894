#include "tamiyo/process/serve.h"

#include <fmt/core.h>

#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text/json_fields.h"
#include "tamiyo/process/controller_message.h"
#include "tamiyo/process/signed_line.h"

namespace esper::tamiyo {

using nlohmann::json;

namespace {

constexpr base::Duration kForEver = std::chrono::hours(24);
constexpr base::Duration kCommandsLiveFor = std::chrono::seconds(60);

class ControllerServer {
 public:
  ControllerServer(base::LineChannel& channel, const crypto::MacKey& key, base::Clock clock)
      : channel_(channel), key_(key), clock_(std::move(clock)) {}

  // Nothing: the run has ended.
  std::optional<std::string> next_line() {
    using Read = base::LineChannel::Read;
    std::string line;
    Read read = Read::kTimeout;
    while (read == Read::kTimeout) read = channel_.read_line(line, kForEver);
    return read == Read::kLine ? std::optional(std::move(line)) : std::nullopt;
  }

  void begin(const json& start, const MakeController& make) {
    ControllerAnswer ready;
    try {
      controller_ = make(start);
      ready.state = json::parse(controller_->save_state());
    } catch (const std::exception& error) {
      ready.problem = base::plain_reason(error);
    }
    send({answer_line(text_of(ready), key_)});
  }

  void answer(const ControllerQuestion& question) {
    std::vector<std::string> lines;
    ControllerAnswer answer;
    try {
      answer = decide(question, lines);
    } catch (const std::exception& error) {
      lines.clear();
      answer.problem = base::plain_reason(error);
    }
    answer.number = question.number;
    lines.push_back(answer_line(text_of(answer), key_));
    send(lines);
  }

 private:
  ControllerAnswer decide(const ControllerQuestion& question, std::vector<std::string>& lines) {
    ControllerAnswer answer;
    controller_->load_state(question.state.dump());
    if (question.observation) {
      auto decision = controller_->decide(*question.observation);
      for (auto& command : decision.commands) lines.push_back(signed_command(std::move(command)));
      answer.commands = decision.commands.size();
      answer.reason = std::move(decision.reason);
      answer.warnings = std::move(decision.warnings);
      answer.assessment = std::move(decision.assessment);
      answer.details = std::move(decision.details);
    }
    answer.state = json::parse(controller_->save_state());
    return answer;
  }

  std::string signed_command(leyline::AdaptationCommand command) {
    ESPER_CHECK(command.seed_operation, "a controller's command has an operation");
    const auto now = clock_.wall();
    command.issued_at_ns = static_cast<std::uint64_t>(now.count());
    return command_line(
        {std::move(command), {++sequence_, static_cast<std::uint64_t>((now + kCommandsLiveFor).count())}}, key_);
  }

  // A run that is gone reads nothing: the next line says so.
  void send(const std::vector<std::string>& lines) {
    for (const auto& line : lines) channel_.send(line, kForEver);
  }

  base::LineChannel& channel_;
  const crypto::MacKey key_;
  const base::Clock clock_;
  std::unique_ptr<leyline::Controller> controller_;
  std::uint64_t sequence_ = 0;
};

}  // namespace

void serve_controller(base::LineChannel channel, const crypto::MacKey& key, const MakeController& make,
                      base::Clock clock) {
  ControllerServer server(channel, key, std::move(clock));
  const auto first = server.next_line();
  if (!first) return;
  const auto start = json::parse(*first, nullptr, false);
  if (!start.is_object()) throw std::runtime_error("the run's first line is not a start message");
  server.begin(start, make);
  while (const auto line = server.next_line()) {
    const auto question = parse_question(*line);
    if (!question) throw std::runtime_error(fmt::format("the run's question is malformed: {}", question.error()));
    server.answer(*question);
  }
}

}  // namespace esper::tamiyo
