#pragma once
// The state of a controller in another process, in the form in which a run saves it. Pure functions.

#include <nlohmann/json.hpp>
#include <string>

namespace esper::tamiyo {

// In a saved state: that of a user's controller.
inline constexpr char kUsersState[] = "process";

// Who wrote the controller, and so what its state may be.
enum class StateForm {
  kOfUser,  // any object: kept under a name of its own in checkpoints
  kOwn      // that of one of our controllers: as it is, so that it can also decide in this process
};

std::string process_state_text(const nlohmann::json& state, StateForm form);
// Throws Error{kCheckpoint} for what is no such text.
nlohmann::json read_process_state(const std::string& text, StateForm form);

}  // namespace esper::tamiyo
