#include "tamiyo/verification/command_signature.h"

#include <utility>

namespace esper::tamiyo {

namespace {

// Keeps codes of commands apart from codes of anything else under the same key.
constexpr std::string_view kPurpose = "esper command 1\n";

std::string code_of(const std::string& text, const crypto::MacKey& key) {
  return crypto::mac_of(key, storage::bytes_of(kPurpose), storage::bytes_of(text));
}

}  // namespace

SignedCommand sign(const AddressedCommand& command, const crypto::MacKey& key) {
  auto text = text_of(command);
  auto signature = code_of(text, key);
  return {std::move(text), std::move(signature)};
}

bool is_signed(const SignedCommand& command, const crypto::MacKey& key) {
  return crypto::is_same_mac(command.signature, code_of(command.text, key));
}

}  // namespace esper::tamiyo
