#pragma once
// Commands as a policy in another process sends them.

#include <string>

#include "leyline/seed_command.h"
#include "tamiyo/verification/command_signature.h"

namespace esper::tamiyo {

inline constexpr std::uint64_t kSecond = 1'000'000'000;
inline constexpr std::uint64_t kIssued = 1'000 * kSecond;  // wall clock

inline AddressedCommand addressed_command(std::string id = "run-e3-1", std::uint64_t sequence = 1) {
  AddressedCommand it;
  it.command = leyline::germination(std::move(id), "r0c1", "conv_light");
  it.command.seed_operation->parameters = {{"alpha_ticks", 2}, {"alpha_target", 0.7}};
  it.command.execution_deadline_ms = 50;
  it.command.issued_at_ns = kIssued;
  it.command.issued_by = "policy";
  it.command.annotations = {{"reason", "a \"plateau\""}};
  it.envelope = {sequence, kIssued + 30 * kSecond};
  return it;
}

inline crypto::MacKey test_key(int value = 1) {
  crypto::MacKey key{};
  key[0] = static_cast<std::byte>(value);
  return key;
}

}  // namespace esper::tamiyo
