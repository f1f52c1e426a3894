#include "tamiyo/process/answer_reader.h"

#include <fmt/core.h>

#include <utility>

#include "base/names.h"
#include "tamiyo/service/decision_check.h"

namespace esper::tamiyo {

void AnswerReader::begin(const crypto::MacKey& key) {
  key_ = key;
  verifier_.change_sender(key);
  verifier_.forget_ids();
  commands_.clear();
  rejection_.reset();
}

base::Expected<std::optional<ControllerReply>> AnswerReader::take(const std::string& line, std::uint64_t asked) {
  const auto split = split_line(line);
  if (!split) return base::failure("it sent a line that is not a signed message");
  if (is_signed_answer(*split, key_)) return take_answer(split->text, asked);
  if (const auto taken = take_command(*split); !taken) return base::failure(taken.error());
  return std::optional<ControllerReply>();
}

base::Expected<void> AnswerReader::take_command(const SignedText& line) {
  if (commands_.size() >= kMostCommands) {
    return base::failure(fmt::format("it sent more than {} commands for one question", kMostCommands));
  }
  auto verified = verifier_.verify({line.text, line.signature});
  if (verified) {
    commands_.push_back(std::move(verified).value());
  } else if (verified.error() == CommandRejection::kInvalidSignature) {
    return base::failure("it sent a line whose signature is invalid");
  } else if (!rejection_) {
    rejection_ = verified.error();
  }
  return {};
}

base::Expected<std::optional<ControllerReply>> AnswerReader::take_answer(const std::string& text, std::uint64_t asked) {
  auto commands = std::exchange(commands_, {});
  const auto rejection = std::exchange(rejection_, std::nullopt);
  auto answer = parse_answer(text);
  if (!answer) return base::failure(fmt::format("its answer is malformed: {}", answer.error()));
  if (answer->number > asked) {
    return base::failure(fmt::format("it answered question {}, which was not asked", answer->number));
  }
  if (answer->number < asked) {
    ++dropped_;
    return std::optional<ControllerReply>();
  }
  if (rejection) return base::failure(fmt::format("a command is rejected: {}", base::name_of(*rejection)));
  if (answer->commands != commands.size()) {
    return base::failure(fmt::format("it announced {} commands and sent {}", answer->commands, commands.size()));
  }
  return std::optional(ControllerReply{*std::move(answer), std::move(commands)});
}

}  // namespace esper::tamiyo
