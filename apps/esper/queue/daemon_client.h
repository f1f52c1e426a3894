#pragma once
// How the commands reach the daemon: one that listens already, or one that is started for them. Any thread.

#include <CLI/CLI.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/quantity.h"
#include "esper/output.h"
#include "http/client.h"

namespace esper {

struct DaemonAddress {
  std::string state_dir;  // as given; empty: the user's own
  bool json = false;

  Format format() const { return json ? Format::kJson : Format::kText; }
};

// For CLI::Option::check(): a number from 1 on.
CLI::Validator job_or_sweep_number();
// For CLI::Option::check(): any number that fits.
CLI::Validator priority_number();

enum class StartDaemon { kNo, kIfNeeded };  // kIfNeeded: where nobody listens

// How long the daemon may take to answer what is no submission.
inline constexpr base::Duration kAnswerTime = std::chrono::seconds(30);

// --state-dir and --json.
void add_daemon_options(CLI::App& command, DaemonAddress& address);
// Of the environment; empty: not set.
std::string environment_value(const char* name);
// Absolute. Throws Error{kConfig} where there is no home folder.
std::string state_dir_of(const DaemonAddress& address);

// Where its daemon listens.
http::Endpoint endpoint_of(const DaemonAddress& address);
// For a request that got no answer, for this reason: "no daemon answers for DIR: REASON; start one: ...", that the
// socket of the one that runs is gone, or that the one that listens gave none that can be used. kTryAgain; kResources
// for an answer that would be as bad the next time.
base::Error no_answer(const DaemonAddress& address, const http::RequestFailure& failure);

// The daemon's answer, a JSON object. Throws Error with the daemon's reason where it refuses: kConfig, kTryAgain where
// it may go well later, or kResources; kConfig for a text of the body that is not UTF-8; no_answer() where there is
// none.
nlohmann::json ask_daemon(const DaemonAddress& address, std::string_view method, const std::string& target,
                          const nlohmann::json& body = nullptr);
// The same for an answer that is no JSON.
std::string ask_daemon_text(const DaemonAddress& address, const std::string& target);
// The same for a submission, which has a token, for POST: its answer is waited for as long as the daemon may take.
nlohmann::json submit_to_daemon(const DaemonAddress& address, const std::string& target,
                                const nlohmann::json& submission, StartDaemon start);

// Of a submission: sent again where the answer was lost, it is the same submission.
std::string new_submission_token();
// Throw Error{kConfig} where the working folder was deleted.
std::string working_folder();
std::string absolute_path(const std::string& path);

}  // namespace esper
