#include "tamiyo/process/controller_message.h"

#include <fmt/core.h>

#include <utility>

#include "base/text/json_struct.h"
#include "base/text/printable.h"
#include "leyline/decision_members.h"
#include "leyline/observation_members.h"

namespace esper::tamiyo {

using nlohmann::json;

namespace {

constexpr char kStateMember[] = "state";
constexpr std::size_t kMostQuestionBytes = 16u << 20;

// Takes it out of the message, so that what is left is a plain struct.
base::Expected<json> take_state(json& message) {
  if (!message.is_object()) return base::failure("it is not a JSON object");
  const auto found = message.find(kStateMember);
  if (found == message.end()) return json::object();
  json state = std::move(*found);
  message.erase(found);
  if (!state.is_object()) return base::failure("state: expected an object");
  return state;
}

template <class Message>
base::Expected<Message> parse_message(std::string_view text, std::size_t longest) {
  auto parsed = base::parse_json(text, longest);
  if (!parsed) return base::failure(parsed.error());
  auto state = take_state(*parsed);
  if (!state) return base::failure(state.error());
  if (!parsed->contains("number")) return base::failure("it has no number");
  auto message = base::from_json<Message>(*parsed);
  if (message) message->state = *std::move(state);
  return message;
}

bool is_share(const std::optional<double>& value) { return !value || (*value >= 0 && *value <= 1); }

// Empty: what is in it is within its limits.
std::string excess_of(const ControllerAnswer& answer) {
  if (answer.warnings.size() > kMostWarnings) {
    return fmt::format("{} warnings, of at most {}", answer.warnings.size(), kMostWarnings);
  }
  // What is recorded of an answer must be readable again.
  if (const auto bytes = base::json_line(answer.state).size(); bytes > base::kMostJsonText) {
    return fmt::format("a state of {} bytes, of at most {}", bytes, base::kMostJsonText);
  }
  if (answer.assessment && !is_share(answer.assessment->risk)) return "assessment.risk: must be from 0 to 1";
  if (answer.assessment && !is_share(answer.assessment->coverage)) return "assessment.coverage: must be from 0 to 1";
  return {};
}

template <class Message>
std::string message_text(const Message& message) {
  auto object = base::to_json(message);
  object[kStateMember] = message.state;
  return base::json_line(object);
}

}  // namespace

constexpr auto json_members(const ControllerQuestion*) {
  using S = ControllerQuestion;
  return std::tuple{base::json_member("number", &S::number), base::json_member("observation", &S::observation)};
}

constexpr auto json_members(const ControllerAnswer*) {
  using S = ControllerAnswer;
  return std::tuple{base::json_member("number", &S::number),         base::json_member("commands", &S::commands),
                    base::json_member("reason", &S::reason),         base::json_member("warnings", &S::warnings),
                    base::json_member("assessment", &S::assessment), base::json_member("details", &S::details),
                    base::json_member("problem", &S::problem)};
}

std::string start_text(json settings) {
  settings["number"] = 0;
  settings["version"] = kContractVersion;
  return base::json_line(settings);
}

std::string text_of(const ControllerQuestion& question) { return message_text(question); }
std::string text_of(const ControllerAnswer& answer) { return message_text(answer); }

base::Expected<ControllerQuestion> parse_question(std::string_view text) {
  return parse_message<ControllerQuestion>(text, kMostQuestionBytes);
}

base::Expected<ControllerAnswer> parse_answer(std::string_view text) {
  auto answer = parse_message<ControllerAnswer>(text, kLongestAnswer);
  if (!answer) return answer;
  if (auto excess = excess_of(*answer); !excess.empty()) return base::failure(std::move(excess));
  answer->reason = base::shortened(answer->reason, kLongestReason);
  answer->problem = base::shortened(answer->problem, kLongestReason);
  for (auto& warning : answer->warnings) warning = base::shortened(warning, kLongestReason);
  return answer;
}

}  // namespace esper::tamiyo
