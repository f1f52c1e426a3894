#pragma once
// Puts a decision together from the lines of a controller in another process. Nothing is taken of a line that is not
// signed, and nothing of a decision of which a part was rejected. Not for several threads at once.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/expected.h"
#include "leyline/command.h"
#include "tamiyo/process/controller_message.h"
#include "tamiyo/process/signed_line.h"
#include "tamiyo/verification/command_verifier.h"

namespace esper::tamiyo {

// All that came of one question.
struct ControllerReply {
  ControllerAnswer answer;
  std::vector<leyline::AdaptationCommand> commands;
};

class AnswerReader {
 public:
  explicit AnswerReader(base::Clock clock) : verifier_(std::nullopt, std::move(clock)) {}

  // Another process answers from here on, with this key. It may use the ids of commands that the last one sent before
  // it was lost: they were not carried out, and those that were the network knows.
  void begin(const crypto::MacKey& key);
  // The loaded state may be one of an earlier epoch.
  void forget_ids() { verifier_.forget_ids(); }

  // The next line after question `asked`. Nothing: the answer is still to come. Fails with the reason where the process
  // is not to be trusted: a line that is not signed or not a message, a command that is not accepted, an answer to a
  // question that nobody asked. An answer to an earlier question, or a second one, is dropped with its commands.
  base::Expected<std::optional<ControllerReply>> take(const std::string& line, std::uint64_t asked);

  const CommandVerifier& verifier() const { return verifier_; }
  std::int64_t dropped() const { return dropped_; }

 private:
  base::Expected<void> take_command(const SignedText& line);
  base::Expected<std::optional<ControllerReply>> take_answer(const std::string& text, std::uint64_t asked);

  crypto::MacKey key_{};
  CommandVerifier verifier_;
  std::vector<leyline::AdaptationCommand> commands_;  // of the answer to come
  std::optional<CommandRejection> rejection_;         // the first of its commands
  std::int64_t dropped_ = 0;
};

}  // namespace esper::tamiyo
