#pragma once
// What a controller in another process says, as tests let it.

#include <string>
#include <vector>

#include "tamiyo/process/controller_message.h"
#include "tamiyo/process/signed_line.h"
#include "unit/tamiyo/signed_commands.h"

namespace esper::tamiyo {

// An answer after so many commands.
inline ControllerAnswer answer_to(std::uint64_t number, std::uint64_t commands = 0) {
  ControllerAnswer answer;
  answer.number = number;
  answer.commands = commands;
  answer.reason = "a plateau";
  answer.state = {{"epochs", number}};
  return answer;
}

inline std::string signed_answer(std::uint64_t number, std::uint64_t commands = 0) {
  return answer_line(text_of(answer_to(number, commands)), test_key());
}

}  // namespace esper::tamiyo
