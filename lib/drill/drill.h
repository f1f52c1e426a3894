#pragma once
// A drill: a training that is disturbed on purpose, and what is to come of it. Plain data, and reading it from its file
// with every problem at once. Any thread.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "base/text/problem.h"
#include "config/field.h"

namespace esper::drill {

// Of the newest checkpoint, before the run is continued.
enum class Damage { kNone, kFlipBit, kTruncate };
constexpr auto names(Damage) {
  return std::array{std::pair{Damage::kNone, "none"}, std::pair{Damage::kFlipBit, "flip_bit"},
                    std::pair{Damage::kTruncate, "truncate"}};
}

// What follows the process that was disturbed.
enum class Then { kNothing, kResume };
constexpr auto names(Then) {
  return std::array{std::pair{Then::kNothing, "nothing"}, std::pair{Then::kResume, "resume"}};
}

// What a machine must have for it.
enum class Needs { kNothing, kGpu };
constexpr auto names(Needs) { return std::array{std::pair{Needs::kNothing, "nothing"}, std::pair{Needs::kGpu, "gpu"}}; }

struct Expectation {
  std::int64_t exit_status = 0;
  std::vector<std::string> events, absent;
  bool same_bits = true;
  std::int64_t most_unreported = 1;
  bool run_folder = true;

  template <class = void>
  static constexpr auto fields() {
    using E = Expectation;
    using config::field;
    return std::tuple{
        field("exit_status", &E::exit_status,
              "exit status of the disturbed process; 128 plus the signal's number if a signal ends it",
              config::between(0, 255)),
        field("events", &E::events, "events that the run reports: NAME for at least once, NAME=3 for three times"),
        field("absent", &E::absent, "events that the run does not report"),
        field("same_bits", &E::same_bits, "whether the run ends bit for bit as the same run without faults"),
        field("most_unreported", &E::most_unreported,
              "epochs that may be missing from telemetry, for instance because a process was killed before it reported "
              "one",
              config::between(0, 1'000'000)),
        field("run_folder", &E::run_folder, "whether there is a run folder at the end; false: none was made")};
  }
};

struct Drill {
  std::string name;  // of its file, without the ending
  std::string about, run;
  std::vector<std::string> set, faults;
  std::vector<base::Place> set_places;  // of each entry of `set`
  Needs needs = Needs::kNothing;
  Damage damage = Damage::kNone;
  Then then = Then::kNothing;
  Expectation expect;

  template <class = void>
  static constexpr auto fields() {
    using D = Drill;
    using config::field;
    return std::tuple{
        field("about", &D::about, "what is disturbed, in a sentence"),
        field("run", &D::run, "the run file, relative to this one"),
        field("set", &D::set, "assignments on top of the run file, like epochs=4"),
        field("needs", &D::needs, "what a machine must have for the drill; other machines skip it"),
        field("faults", &D::faults, "fault points, like storage.publish@2x3: the second hit and three in all"),
        field("damage", &D::damage, "damage to the newest checkpoint, before the run is continued"),
        field("then", &D::then, "what happens after the disturbed process has ended"),
        field("expect", &D::expect, "expected outcome")};
  }
  void validate(config::Findings& out) const;
};

struct LoadedDrill {
  Drill drill;                          // to be used only where there are no problems
  std::vector<base::Problem> problems;  // by place
};

LoadedDrill read_drill(const std::string& path);
// The same for a text. `file`: what places show, and whose folder `run` is relative to.
LoadedDrill read_drill_text(std::string_view text, const std::string& file);
// A problem of the run file with the drill's `set` on top: one of an assignment is at its entry in the drill's file.
base::Problem at_own_place(base::Problem problem, const Drill& drill);
// Why it cannot be armed in a training; empty: it can. entry: of `faults`.
std::string problem_of_fault(const std::string& entry);
// Throws base::ConfigError with the problems of all of them.
std::vector<Drill> load_drills(const std::vector<std::string>& paths);

// The event of an entry of Expectation::events, and how often it is to be reported; nothing: at least once.
struct ExpectedEvent {
  std::string name;
  std::optional<std::int64_t> times;
};
base::Expected<ExpectedEvent> parse_expected_event(std::string_view entry);

}  // namespace esper::drill
