#include "tamiyo/process/process_state.h"

#include <utility>

#include "base/error.h"
#include "base/text/json_fields.h"

namespace esper::tamiyo {

using nlohmann::json;

std::string process_state_text(const json& state, StateForm form) {
  return form == StateForm::kOwn ? state.dump() : json{{kUsersState, state}}.dump();
}

json read_process_state(const std::string& text, StateForm form) {
  json saved = json::parse(text, nullptr, false);
  json state = form == StateForm::kOwn ? std::move(saved) : base::member(saved, kUsersState);
  if (state.is_object()) return state;
  throw base::Error(base::ExitCode::kCheckpoint, "the saved state is not that of a controller in a process");
}

}  // namespace esper::tamiyo
