#pragma once
// What the daemon answered, checked. A daemon that goes on while esper is replaced is of another version: its refusals
// and answers may then be what the one of the two does not know. Any thread.

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/text/json_struct.h"
#include "esper/queue/daemon_client.h"

namespace esper {

// Throw Error with the daemon's reason where it refused (ask_daemon() says with which code), and kBug where the answer
// is no JSON object. With both versions where they differ and may be the cause.
void refuse_if_refused(const DaemonAddress& address, const http::Response& response);
nlohmann::json document_of(const DaemonAddress& address, const http::Response& response);

// kBug: an answer that this program does not understand, with both versions where they differ.
base::Error unreadable_answer(const DaemonAddress& address, const std::string& reason);

// A list of the answer. Throws unreadable_answer() where there is none.
const nlohmann::json& list_of(const DaemonAddress& address, const nlohmann::json& answer, const std::string& name);

// The answer as the struct that it was made of. Throws unreadable_answer().
template <class Answer>
Answer answer_in(const DaemonAddress& address, const nlohmann::json& document) {
  auto answer = base::from_json<Answer>(document);
  if (!answer) throw unreadable_answer(address, answer.error());
  return std::move(*answer);
}

}  // namespace esper
