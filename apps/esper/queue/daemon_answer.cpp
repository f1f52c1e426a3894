#include "esper/queue/daemon_answer.h"

#include <fmt/core.h>

#include <chrono>

#include "base/text/json_fields.h"
#include "base/text/printable.h"
#include "esper/version.h"
#include "http/client.h"

namespace esper {
namespace {

using base::Error;
using base::ExitCode;

constexpr auto kVersionTime = std::chrono::seconds(5);
constexpr std::size_t kMostAnswerBytes = 64u << 20;

// Empty where the daemon is of this program's version, or does not say of which.
std::string other_version(const DaemonAddress& address) {
  const auto response = http::request(endpoint_of(address), "GET", "/v1/daemon", "", kVersionTime);
  if (!response) return "";
  const auto document = base::parse_json(response->body, kMostAnswerBytes);
  const std::string version = document ? base::text_at(*document, "version") : "";
  if (version.empty() || version == build_name()) return "";
  return fmt::format("; the daemon is esper {}, this is esper {}: restart it (esper daemon stop, then esper daemon)",
                     base::printable_line(base::shortened(version)), build_name());
}

ExitCode code_of_refusal(int status) {
  constexpr int kChangedMeanwhile = 412, kBusy = 503;
  if (status == kChangedMeanwhile || status == kBusy) return ExitCode::kTryAgain;
  return status >= 500 ? ExitCode::kResources : ExitCode::kConfig;
}

}  // namespace

void refuse_if_refused(const DaemonAddress& address, const http::Response& response) {
  constexpr int kWrong = 400, kNothingThere = 404, kOtherMethods = 405;
  const int status = response.status;
  if (status < 300) return;
  const auto document = base::parse_json(response.body, kMostAnswerBytes);
  std::string reason = document ? base::text_at(*document, "error") : "";
  if (reason.empty()) reason = fmt::format("the daemon refused with status {}", status);
  if (status == kWrong || status == kNothingThere || status == kOtherMethods) reason += other_version(address);
  throw Error(code_of_refusal(status), reason);
}

nlohmann::json document_of(const DaemonAddress& address, const http::Response& response) {
  auto document = base::parse_json(response.body, kMostAnswerBytes);
  if (!document) throw unreadable_answer(address, document.error());
  if (!document->is_object())
    throw unreadable_answer(address, fmt::format("expected an object, found {}", document->type_name()));
  return std::move(*document);
}

Error unreadable_answer(const DaemonAddress& address, const std::string& reason) {
  return {ExitCode::kBug, "the daemon's answer cannot be read: " + reason + other_version(address)};
}

const nlohmann::json& list_of(const DaemonAddress& address, const nlohmann::json& answer, const std::string& name) {
  const auto& list = base::member(answer, name);
  if (!list.is_array()) throw unreadable_answer(address, fmt::format("it has no list \"{}\"", name));
  return list;
}

}  // namespace esper
