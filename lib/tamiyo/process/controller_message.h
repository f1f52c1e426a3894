#pragma once
// The messages between a run and a controller in another process, as JSON; docs/controller.md is their description for
// users. Plain data. Any thread.
//
//   run:        {"number":0,"version":1,"config":{...}}                       the start: once
//   controller: {"number":0}                                                  it is ready
//   run:        {"number":7,"observation":{...},"state":{...}}                a question
//   controller: {"number":7,"commands":1,"reason":"...","state":{...}}        an answer, after its commands
//
// What the run sends is not signed: the channel has no other writer, and nothing is changed by it.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "leyline/assessment.h"
#include "leyline/observation.h"

namespace esper::tamiyo {

inline constexpr int kContractVersion = 1;
inline constexpr std::size_t kLongestAnswer = 4u << 20;  // bytes of an answer's text, its state included
inline constexpr std::size_t kLongestReason = 4096;      // characters of a reason, a problem or a warning: cut there
inline constexpr std::size_t kMostWarnings = 256;

struct ControllerQuestion {
  std::uint64_t number = 0;                              // 1, 2, ...; 0 is the start
  std::optional<leyline::Observation> observation = {};  // nothing: whether it could decide from this state
  nlohmann::json state = nlohmann::json::object();
};

struct ControllerAnswer {
  std::uint64_t number = 0;    // of the question
  std::uint64_t commands = 0;  // that it sent before this answer
  std::string reason;
  std::vector<std::string> warnings;
  std::optional<leyline::Assessment> assessment;
  std::string details;
  std::string problem;  // why it cannot decide; empty: it has
  nlohmann::json state = nlohmann::json::object();
};

// settings: what the controller gets to know of the run, an object.
std::string start_text(nlohmann::json settings);
std::string text_of(const ControllerQuestion& question);
std::string text_of(const ControllerAnswer& answer);

// Fail with the reason for what is no such message: a member that is unknown, missing or of another type, a text that
// is too long.
base::Expected<ControllerQuestion> parse_question(std::string_view text);
base::Expected<ControllerAnswer> parse_answer(std::string_view text);

}  // namespace esper::tamiyo
