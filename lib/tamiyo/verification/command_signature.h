#pragma once
// Commands of a policy in another process are signed: only who shares the run's key can command the network. The code
// (HMAC-SHA256) covers the whole text with its id, sequence number and expiry. Pure functions.

#include <string>

#include "crypto/mac.h"
#include "tamiyo/verification/command_text.h"

namespace esper::tamiyo {

struct SignedCommand {
  std::string text;       // of command_text.h
  std::string signature;  // 64 lower-case hexadecimal digits
};

SignedCommand sign(const AddressedCommand& command, const crypto::MacKey& key);
bool is_signed(const SignedCommand& command, const crypto::MacKey& key);

}  // namespace esper::tamiyo
