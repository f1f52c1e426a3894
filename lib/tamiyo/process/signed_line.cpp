#include "tamiyo/process/signed_line.h"

#include <fmt/core.h>

namespace esper::tamiyo {

namespace {

constexpr std::size_t kSignatureDigits = 64;

std::string answer_code(const std::string& text, const crypto::MacKey& key) {
  return crypto::mac_of(key, storage::bytes_of(kAnswerPurpose), storage::bytes_of(text));
}

}  // namespace

std::string command_line(const AddressedCommand& command, const crypto::MacKey& key) {
  const auto [text, signature] = sign(command, key);
  return fmt::format("{} {}", signature, text);
}

std::string answer_line(const std::string& text, const crypto::MacKey& key) {
  return fmt::format("{} {}", answer_code(text, key), text);
}

std::optional<SignedText> split_line(std::string_view line) {
  if (line.size() <= kSignatureDigits || line[kSignatureDigits] != ' ') return std::nullopt;
  return SignedText{std::string(line.substr(0, kSignatureDigits)), std::string(line.substr(kSignatureDigits + 1))};
}

bool is_signed_answer(const SignedText& line, const crypto::MacKey& key) {
  return crypto::is_same_mac(line.signature, answer_code(line.text, key));
}

}  // namespace esper::tamiyo
