#include "lanes/shape/shape_state.h"

#include <fmt/core.h>

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <set>
#include <string>

#include "base/error.h"
#include "base/names.h"
#include "lanes/shape/step_shape.h"

namespace esper::test::shape_state_test {

using namespace esper;
using namespace esper::lanes;

namespace {

// As the picture in docs/lanes.md has it.
std::string line_of(const ShapeTransition& transition) {
  return fmt::format("{} --> {}: {}", base::name_of(transition.from), base::name_of(transition.to),
                     base::name_of(transition.event));
}

std::multiset<std::string> lines_of_the_picture() {
  std::ifstream file(ESPER_SOURCE_DIR "/docs/lanes.md");
  std::multiset<std::string> lines;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "```mermaid") inside = true;
    if (line == "```") inside = false;
    const auto begin = line.find_first_not_of(' ');
    if (inside && line.find("-->") != std::string::npos && line.find("[*]") == std::string::npos) {
      lines.insert(line.substr(begin));
    }
  }
  return lines;
}

Lane idle_lane() {
  return {config::Lane::kReplay, [](auto) {}};
}

// Each state with what it holds.
ShapeState example_of(StateId id) {
  switch (id) {
    case StateId::kWarmUp:
      return WarmUp{1};
    case StateId::kRecording:
      return Recording{};
    case StateId::kFollowing:
      return Following{};
    case StateId::kSearching:
      return Searching{};
    case StateId::kChecking:
      return Checking{idle_lane()};
    case StateId::kTrialling:
      return Trialling{idle_lane()};
    case StateId::kSettled:
      return Settled{};
    case StateId::kRechecking:
      return Rechecking{};
    case StateId::kEagerOnly:
      return EagerOnly{};
  }
  FAIL("no such state");
  return {};
}

bool can_enter(StateId from, ShapeEvent event, StateId to) {
  StepShape shape;
  shape.state = example_of(from);
  try {
    shape.enter(event, example_of(to));
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ExitCode::kBug);
    CHECK(shape.is(from));
    return false;
  }
  CHECK(shape.is(to));
  return true;
}

}  // namespace

TEST_CASE("a shape enters a state exactly where the table of transitions leads") {
  for (const auto& [from, from_name] : names(StateId())) {
    for (const auto& [event, event_name] : names(ShapeEvent())) {
      for (const auto& [to, to_name] : names(StateId())) {
        CAPTURE(from_name, event_name, to_name);
        const auto ways = std::ranges::count_if(shape_transitions(), [&](const ShapeTransition& each) {
          return each.from == from && each.event == event && each.to == to;
        });
        CHECK(ways <= 1);
        CHECK(can_enter(from, event, to) == (ways == 1));
        CHECK((next_state(from, event) == to) == (ways == 1));
      }
    }
  }
}

TEST_CASE("every state is reached from the warm-up, every event occurs, and only EagerOnly has no transition") {
  std::set<StateId> reached{StateId::kWarmUp}, left;
  std::set<ShapeEvent> events;
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const auto& [from, event, to] : shape_transitions()) {
      if (reached.contains(from)) reached.insert(to);
    }
  }
  for (const auto& [from, event, to] : shape_transitions()) {
    left.insert(from);
    events.insert(event);
  }
  CHECK(reached.size() == names(StateId()).size());
  CHECK(events.size() == names(ShapeEvent()).size());
  CHECK(left.size() == names(StateId()).size() - 1);
  CHECK_FALSE(left.contains(StateId::kEagerOnly));
}

TEST_CASE("the picture in docs/lanes.md is the table of transitions") {
  std::multiset<std::string> lines;
  for (const ShapeTransition& transition : shape_transitions()) lines.insert(line_of(transition));
  CHECK(lines_of_the_picture() == lines);
}

}  // namespace esper::test::shape_state_test
