#pragma once
// What a controller in another process sends, one line for each message: the code of the text (64 hexadecimal digits),
// a blank, the text, which is JSON. A line is verified by its bytes before anything of it is read. Pure functions.
//
// A command's text is that of command_text.h. All others are answers (controller_message.h); their codes are apart from
// those of commands under the same key.

#include <optional>
#include <string>
#include <string_view>

#include "crypto/mac.h"
#include "tamiyo/verification/command_signature.h"

namespace esper::tamiyo {

inline constexpr std::string_view kAnswerPurpose = "esper answer 1\n";

struct SignedText {
  std::string signature, text;
};

std::string command_line(const AddressedCommand& command, const crypto::MacKey& key);
std::string answer_line(const std::string& text, const crypto::MacKey& key);

// Nothing where the line has no such form; that says nothing of who signed it.
std::optional<SignedText> split_line(std::string_view line);
bool is_signed_answer(const SignedText& line, const crypto::MacKey& key);

}  // namespace esper::tamiyo
