#include "tamiyo/verification/command_verifier.h"

#include <string>

#include "base/names.h"
#include "base/text/rounding.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::tamiyo {

using namespace leyline::literals;

CommandVerifier::CommandVerifier(std::optional<crypto::MacKey> key, base::Clock clock, VerifierSettings settings)
    : key_(key), clock_(std::move(clock)), settings_(settings), nonces_(settings.nonces) {}

base::Expected<leyline::AdaptationCommand, CommandRejection> CommandVerifier::verify(const SignedCommand& command) {
  const auto begin = clock_.now();
  auto checked = check(command);
  figures_.last_latency_ms = base::milliseconds(clock_.now() - begin);
  if (!checked) {
    ++figures_.rejections[checked.error()];
    return base::failure(checked.error());
  }
  ++figures_.accepted;
  return std::move(checked->command);
}

void CommandVerifier::change_sender(const crypto::MacKey& key) {
  key_ = key;
  last_sequence_ = 0;
}

base::Expected<AddressedCommand, CommandRejection> CommandVerifier::check(const SignedCommand& command) {
  using R = CommandRejection;
  if (!key_) return base::failure(R::kVerifierUnavailable);
  if (command.signature.empty()) return base::failure(R::kMissingSignature);
  if (!is_signed(command, *key_)) return base::failure(R::kInvalidSignature);
  auto parsed = parse_command(command.text);
  if (!parsed) return base::failure(R::kMalformedCommand);
  if (parsed->command.command_id.empty()) return base::failure(R::kMissingCommandId);
  if (const auto fresh = check_time(*parsed); !fresh) return base::failure(fresh.error());
  if (!nonces_.insert(parsed->command.command_id, clock_.now())) return base::failure(R::kNonceReplayed);
  if (parsed->envelope.sequence <= last_sequence_) return base::failure(R::kOutOfSequence);
  last_sequence_ = parsed->envelope.sequence;
  return std::move(*parsed);
}

base::Expected<void, CommandRejection> CommandVerifier::check_time(const AddressedCommand& command) const {
  using R = CommandRejection;
  const auto now = static_cast<std::uint64_t>(clock_.wall().count());
  const auto issued = command.command.issued_at_ns;
  if (issued == 0) return base::failure(R::kMissingTimestamp);
  const auto count = [](base::Duration duration) { return static_cast<std::uint64_t>(duration.count()); };
  if (issued > now && issued - now > count(settings_.furthest_ahead)) return base::failure(R::kIssuedInFuture);
  if (now > issued && now - issued > count(settings_.oldest)) return base::failure(R::kStaleCommand);
  if (now > command.envelope.expires_at_ns) return base::failure(R::kExpiredCommand);
  return {};
}

std::vector<leyline::MetricValue> verifier_metrics(const CommandVerifier& verifier) {
  using leyline::metric;
  const auto& figures = verifier.figures();
  const auto& nonces = verifier.nonces();
  std::vector<leyline::MetricValue> out;
  out.push_back(metric("kasmina.command_verifier.accepted_total"_metric, static_cast<double>(figures.accepted)));
  for (const auto& [reason, count] : figures.rejections) {
    out.push_back(metric("kasmina.command_verifier.rejections_total"_metric, static_cast<double>(count),
                         {{"reason", std::string(base::name_of(reason))}}));
  }
  out.push_back(metric("kasmina.command_verifier.validation_latency_ms"_metric, figures.last_latency_ms));
  out.push_back(metric("kasmina.nonce_ledger.size"_metric, static_cast<double>(nonces.size())));
  out.push_back(metric("kasmina.nonce_ledger.evictions_total"_metric, static_cast<double>(nonces.evictions())));
  out.push_back(metric("kasmina.nonce_ledger.ttl_seconds"_metric,
                       std::chrono::duration<double>(nonces.settings().time_to_live).count()));
  return out;
}

}  // namespace esper::tamiyo
