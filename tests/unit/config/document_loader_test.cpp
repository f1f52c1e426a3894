#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "config/loading/load.h"
#include "unit/config/problem_case.h"

namespace esper::test::document_loader_test {

using namespace esper::base;
using namespace esper::config;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using esper::test::check_problem;
using esper::test::problem_of;
using Case = esper::test::ProblemCase;

TEST_CASE("what is no section, or a key that a text cannot have, is refused with its place") {
  const Case c =
      GENERATE(Case{"data: 3\n", "f:1:7: data: expected a section"}, Case{"data:\n", "f:1:1: data: expected a section"},
               Case{"- a\n", "f:1:1: expected a section"}, Case{"", "f:1:1: expected a section"},
               Case{"just text\n", "f:1:1: expected a section"},
               Case{"extends: other.yaml\n", "f:1:1: extends: only a file can extend another one"},
               Case{"data.kind: csv\n", "f:1:1: data.kind: unknown key"});
  check_problem(c);
}

TEST_CASE("a section that was given its kind alone is shown with it") {
  CHECK_THAT(problem_of("training: {optimizer: adamw}\n"),
             ContainsSubstring("expected a section") && ContainsSubstring("; write {kind: adamw}; known keys: kind"));
  CHECK_THAT(problem_of("device: cuda:1\n"), ContainsSubstring("; write {kind: cuda:1}"));
  CHECK_THAT(problem_of("data: iris.csv\n"), !ContainsSubstring("write"));
  CHECK_THAT(problem_of("checkpoint: best\n"), !ContainsSubstring("write {kind"));
}

TEST_CASE("a key that other trainers have leads to the field") {
  CHECK_THAT(problem_of("learning_rate: 0.1\n"),
             StartsWith("f:1:1: learning_rate: unknown key; there is training.optimizer.lr. Known here: name"));
  CHECK_THAT(problem_of("training: {early_stopping: 3}\n"), ContainsSubstring("there is training.early_stop_epochs."));
  CHECK_THAT(problem_of("model: resnet\n"), ContainsSubstring("unknown key; there is host."));
}

TEST_CASE("an unknown key names the nearest known one, or where it belongs") {
  CHECK_THAT(problem_of("epohcs: 3\n"), ContainsSubstring("unknown key; did you mean epochs? Known here: name, seed"));
  CHECK_THAT(problem_of("training:\n  lr: 3\n"),
             StartsWith("f:2:3: training.lr: unknown key; there is training.optimizer.lr."));
  CHECK_THAT(problem_of("zzz: 3\n"), ContainsSubstring("unknown key; known here: name, seed, epochs"));
}

// Compiled programs are native code: a file from elsewhere must not say where they come from.
TEST_CASE("the folder of compiled programs is refused in a run file and on --set, and the way out is named") {
  for (const char* text : {"step: {compile: {cache_dir: /tmp/x}}\n", "step:\n  compile:\n    cache_dir: [x]\n"}) {
    CHECK_THAT(problem_of(text), ContainsSubstring("step.compile.cache_dir") && ContainsSubstring("native code") &&
                                     ContainsSubstring("--cache-dir or ESPER_CACHE"));
  }
  const auto set = read_run_config_text("seed: 1\n", "f", {"step.compile.cache_dir=/tmp/x"});
  REQUIRE(set.problems.size() == 1);
  CHECK_THAT(to_string(set.problems[0]), ContainsSubstring("--cache-dir"));
}

TEST_CASE("a run of an earlier version has that field in its config.yaml: it is ignored, with a warning") {
  const std::string text = "step: {compile: {cache_dir: /tmp/x, ahead: 3}}\n";
  const auto of_run = read_run_config_text(text, "f", {}, DocumentKind::kOfRun);
  CHECK(of_run.problems.empty());
  REQUIRE(of_run.warnings.size() == 1);
  CHECK_THAT(to_string(of_run.warnings[0]),
             StartsWith("f:1:") && ContainsSubstring("is ignored") && ContainsSubstring("--cache-dir"));
  CHECK(of_run.config.step.compile.ahead == 3);
  // What such a run wrote where nothing was asked for.
  const auto empty = read_run_config_text("step: {compile: {cache_dir: \"\"}}\n", "f", {}, DocumentKind::kOfRun);
  CHECK((empty.problems.empty() && empty.warnings.empty()));
  CHECK(read_run_config_text("step: {compile: {cache_dir: \"\"}}\n", "f").problems.empty());
  // The command line is no document of the run.
  CHECK(read_run_config_text(text, "f", {"step.compile.cache_dir=y"}, DocumentKind::kOfRun).problems.size() == 1);
}

TEST_CASE(
    "a field that was removed is refused with its place and the reason, and ignored in a run of an earlier version") {
  const std::string text = "policy:\n  reports: {retention: 6h, window_epochs: 2}\n";
  CHECK_THAT(problem_of(text), StartsWith("f:2:13: policy.reports.retention: was removed, as it had no effect") &&
                                   ContainsSubstring("leave it out"));
  const auto set = read_run_config_text("seed: 1\n", "f", {"policy.reports.retention=6h"});
  REQUIRE(set.problems.size() == 1);
  CHECK_THAT(to_string(set.problems[0]), ContainsSubstring("policy.reports.retention: was removed"));
  const auto of_run = read_run_config_text(text, "f", {}, DocumentKind::kOfRun);
  CHECK(of_run.problems.empty());
  REQUIRE(of_run.warnings.size() == 1);
  CHECK_THAT(to_string(of_run.warnings[0]), StartsWith("f:2:13: policy.reports.retention: is ignored"));
  CHECK(of_run.config.policy.reports.window_epochs == 2);
}

// What an earlier version resolved has each of its fields: nobody set this one, and copies of such files are run files.
TEST_CASE("a field that was removed is passed over where it has the value that it had by default") {
  const std::string text = "policy: {reports: {retention: 24h}}\n";
  for (const auto kind : {DocumentKind::kRunFile, DocumentKind::kOfRun}) {
    const auto loaded = read_run_config_text(text, "f", {}, kind);
    CHECK((loaded.problems.empty() && loaded.warnings.empty()));
  }
  CHECK_THAT(problem_of("policy: {reports: {retention: [24h]}}\n"), ContainsSubstring("was removed"));
}

}  // namespace esper::test::document_loader_test
