#pragma once
// Accepts a signed command once, while it is fresh, or says why not. Not for several threads at once.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/expected.h"
#include "leyline/telemetry/telemetry_packet.h"
#include "tamiyo/verification/command_signature.h"
#include "tamiyo/verification/nonce_ledger.h"

namespace esper::tamiyo {

// Names are part of the telemetry contract.
enum class CommandRejection : std::uint8_t {
  kVerifierUnavailable,  // there is no key
  kMissingSignature,
  kInvalidSignature,
  kMalformedCommand,  // signed, and no command
  kMissingCommandId,
  kMissingTimestamp,
  kIssuedInFuture,
  kStaleCommand,    // issued too long ago
  kExpiredCommand,  // its sender gave it less time than that
  kNonceReplayed,
  kOutOfSequence,  // its number is not above that of the last one accepted
};
constexpr auto names(CommandRejection) {
  using R = CommandRejection;
  return std::array{std::pair{R::kVerifierUnavailable, "verifier_unavailable"},
                    std::pair{R::kMissingSignature, "missing_signature"},
                    std::pair{R::kInvalidSignature, "invalid_signature"},
                    std::pair{R::kMalformedCommand, "malformed_command"},
                    std::pair{R::kMissingCommandId, "missing_command_id"},
                    std::pair{R::kMissingTimestamp, "missing_timestamp"},
                    std::pair{R::kIssuedInFuture, "issued_in_future"},
                    std::pair{R::kStaleCommand, "stale_command"},
                    std::pair{R::kExpiredCommand, "expired_command"},
                    std::pair{R::kNonceReplayed, "nonce_replayed"},
                    std::pair{R::kOutOfSequence, "out_of_sequence"}};
}

struct VerifierSettings {
  base::Duration oldest = std::chrono::seconds(60);
  base::Duration furthest_ahead = std::chrono::seconds(5);  // of clocks that differ
  NonceSettings nonces;
};

struct VerifierFigures {
  std::int64_t accepted = 0;
  std::map<CommandRejection, std::int64_t> rejections;
  double last_latency_ms = 0;
};

class CommandVerifier {
 public:
  // key: none rejects everything.
  CommandVerifier(std::optional<crypto::MacKey> key, base::Clock clock, VerifierSettings settings = {});

  base::Expected<leyline::AdaptationCommand, CommandRejection> verify(const SignedCommand& command);

  // From here on commands are another sender's: its key counts, and its sequence starts again.
  void change_sender(const crypto::MacKey& key);
  // The sender goes back to an earlier epoch: it may use its ids again. Numbers still keep replays out.
  void forget_ids() { nonces_ = NonceLedger(settings_.nonces); }

  const VerifierFigures& figures() const { return figures_; }
  const NonceLedger& nonces() const { return nonces_; }

 private:
  base::Expected<AddressedCommand, CommandRejection> check(const SignedCommand& command);
  base::Expected<void, CommandRejection> check_time(const AddressedCommand& command) const;

  std::optional<crypto::MacKey> key_;
  base::Clock clock_;
  VerifierSettings settings_;
  NonceLedger nonces_;
  std::uint64_t last_sequence_ = 0;
  VerifierFigures figures_;
};

// The verifier as metrics: kasmina.command_verifier.*, kasmina.nonce_ledger.*.
std::vector<leyline::MetricValue> verifier_metrics(const CommandVerifier& verifier);

}  // namespace esper::tamiyo
