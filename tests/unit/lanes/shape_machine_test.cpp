// What becomes of a compiled program whose step fails.

#include "lanes/shape/shape_machine.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <new>

#include "lanes/shape/shape_set.h"
#include "unit/lanes/compiling_step.h"

namespace esper::test::shape_machine_test {

using namespace esper;
using namespace esper::tests;
using Catch::Matchers::ContainsSubstring;
using config::Lane;

namespace {

using Texts = std::vector<std::string>;

// A run whose cache has the program.
struct CompiledRun : CompilingStep {
  CompiledRun() { stock(key); }

  // Runs a step in a compiled lane that does this.
  void run(const std::function<void()>& step) {
    executor.run_in(lanes::Lane(Lane::kCompiled, [&](auto) { step(); }, {nullptr, key, 1}), {});
  }
  // What the error says that ends a run in whose step torch says this.
  std::string text_of_failure(const std::string& of_torch) {
    try {
      run([&] { TORCH_CHECK(false, of_torch); });
    } catch (const base::Error& error) {
      CHECK(error.code() == base::ExitCode::kBug);
      return error.what();
    }
    return {};
  }
  // In use, or on trial. Its step spoils the model.
  lanes::Lane spoiling_lane() {
    return lanes::Lane(Lane::kCompiled,
                       [this](auto) {
                         const torch::NoGradGuard no_grad;
                         for (const auto& named : step::named_tensors(model->state)) named.tensor.detach().fill_(NAN);
                       },
                       {nullptr, key, 1});
  }
  lanes::Lane right_lane() {
    return lanes::Lane(Lane::kCompiled,
                       [this](auto batch) { step::train_step(model->state, model->settings, batch, context.forward); },
                       {nullptr, key, 1});
  }
  bool is_in_cache() { return service.cache().facts(key).has_value(); }

  const std::string key = variant("default").key;
  lanes::LaneFailures failures{services, figures};
  lanes::LaneExecutor executor{context, failures};
  lanes::ShapeMachine machine{context, executor, lanes::ShapeMachine::Adoption::kWhenFaster};
};

// One shape of its steps.
struct CompiledShape : CompiledRun {
  const std::vector<step::Microbatch> batch = make_batches(c, 1);
  lanes::ShapeSet shapes;
  lanes::StepShape& tested = shapes.add(model->network.structure_version(), batch);
};

}  // namespace

TEST_CASE("a compiled program whose step fails is quarantined, and the event has the cause without a backtrace") {
  CompiledRun it;
  const std::string text = it.text_of_failure("an index is out of range");
  CHECK_THAT(text, ContainsSubstring(it.key + " failed: an index is out of range\n"));
  CHECK_THAT(text, ContainsSubstring("esper train --resume RUN"));
  CHECK_THAT(text, ContainsSubstring("--set step.lane=replay"));
  CHECK(it.reported("tolaria.compile_runtime_fallback", "error") == Texts{"step failed"});
  CHECK(it.reported("tolaria.compile_runtime_fallback", "reason") == Texts{"an index is out of range"});
  CHECK(it.figures.quarantined == 1);
  CHECK_FALSE(it.is_in_cache());
  CHECK(it.service.cache().quarantine_reason(it.key, program::EntryFault::kFailed) == "an index is out of range");
}

TEST_CASE("a compiled program that fails in a step or a comparison leaves a package that has taken its place alone") {
  CompiledShape it;
  const std::string mac(64, 'a');  // of a package that is no longer there
  const auto fails = [](auto) { throw std::runtime_error("it does not run"); };
  CHECK_THROWS(it.executor.run_in(lanes::Lane(Lane::kCompiled, fails, {nullptr, it.key, 1, mac}), it.batch));
  CHECK(it.is_in_cache());
  it.tested.state = lanes::Checking{lanes::Lane(Lane::kCompiled, fails, {nullptr, it.key, 1, mac})};
  const auto outcome = it.machine.step(it.tested, it.batch, {5, 100});
  REQUIRE(outcome.event == lanes::ShapeEvent::kRejected);
  it.failures.reject(outcome.lane, outcome.key, outcome.rejection);
  CHECK(it.figures.quarantined == 2);
  CHECK(it.is_in_cache());
  CHECK_FALSE(it.service.cache().why_unusable(it.key));
}

TEST_CASE("the reason in the quarantine of a wrong program says where it differs, and by how much") {
  CompiledRun it;
  const program::Difference difference{.tensor = "host.head.bias", .difference = 0.5, .tolerance = 0.001};
  it.failures.reject(Lane::kCompiled, it.key, {lanes::Rejection::Cause::kErred, "its step differs", difference});
  CHECK(it.service.cache().quarantine_reason(it.key, program::EntryFault::kWrong) ==
        "its step differs in host.head.bias by 0.5, where 0.001 is allowed");
}

TEST_CASE("an error that CUDA reports late leaves the package in the cache, and the text names the ways out") {
  CompiledRun it;
  const std::string late = "CUDA error: an illegal memory access was encountered";
  const std::string text = it.text_of_failure(late);
  CHECK_THAT(text, ContainsSubstring("esper train --resume RUN"));
  CHECK_THAT(text, ContainsSubstring("delete the package " + it.service.cache().entry_path(it.key)));
  it.failures.reject(Lane::kCompiled, it.key, {lanes::Rejection::Cause::kErred, late, {}});
  CHECK(it.figures.quarantined == 0);
  CHECK(it.is_in_cache());
  const auto errors = it.reported("tolaria.compile_runtime_fallback", "error");
  REQUIRE(errors.size() == 1);
  CHECK_THAT(errors.front(), ContainsSubstring("the package stays"));
}

TEST_CASE("an error that CUDA reports late after a comparison's compiled step ends the run with the ways out") {
  CompiledShape it;
  const std::string late = "CUDA error: an illegal memory access was encountered";
  it.context.forward = [&](const auto&...) -> torch::Tensor { throw std::runtime_error(late); };
  const auto text_of = [&](const std::string& key) {
    it.tested.state = lanes::Checking{lanes::Lane(Lane::kCompiled, [](auto) {}, {nullptr, key, 1})};
    try {
      it.machine.step(it.tested, it.batch, {5, 100});
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string text = text_of(it.key);
  CHECK_THAT(text, ContainsSubstring(it.key + " failed: " + late));
  CHECK_THAT(text, ContainsSubstring("delete the package " + it.service.cache().entry_path(it.key)));
  CHECK(it.is_in_cache());
  CHECK(text_of("") == late);
  it.tested.incumbent = lanes::Lane(Lane::kCompiled, [](auto) {}, {nullptr, it.key, 1});
  it.tested.state = lanes::Rechecking{};
  CHECK_THROWS_WITH(it.machine.step(it.tested, it.batch, {5, 100}), ContainsSubstring("delete the package "));
}

TEST_CASE("a package that cannot be taken out of the cache is named where its step failed") {
  CompiledRun it;
  const auto held = it.service.cache().files().try_lock(it.folder / "programs/lock");
  REQUIRE(held);
  CHECK_THAT(it.text_of_failure("an index is out of range"), ContainsSubstring("delete the package "));
}

TEST_CASE("a lack of memory in a compiled step is not the program's fault") {
  CompiledRun it;
  CHECK_THROWS(it.run([] { throw std::bad_alloc(); }));
  CHECK_THROWS(it.run([] { throw std::runtime_error("the compiled program failed: CUDA out of memory"); }));
  CHECK(it.reported("tolaria.compile_runtime_fallback", "reason").empty());
  CHECK(it.figures.quarantined == 0);
  CHECK(it.is_in_cache());
}

TEST_CASE("a program that spoilt a step is compared with eager in it, or in the shape's next one, and then given up") {
  for (const std::int64_t next : {9, 11}) {
    CompiledShape it;
    lanes::StepShape& shape = it.tested;
    shape.state = lanes::Settled{};
    shape.incumbent = it.right_lane();
    it.machine.checks().compare_at({2, 9});
    it.machine.rolled_back(shape, 5);
    CHECK_FALSE(it.machine.step(shape, it.batch, {5, 100}).event);
    CHECK(it.executor.tally().key == it.key);
    shape.incumbent = it.spoiling_lane();  // as if it failed with these numbers alone
    const auto outcome = it.machine.step(shape, it.batch, {next, 100});
    CHECK(outcome.event == lanes::ShapeEvent::kRejected);
    CHECK(outcome.rejection.cause == lanes::Rejection::Cause::kErred);
    CHECK_FALSE(shape.incumbent);
    CHECK(shape.next_check > next);
    CHECK(it.executor.tally().key.empty());
    for (const auto& named : step::named_tensors(it.model->state)) CHECK(named.tensor.isfinite().all().item<bool>());
  }
}

TEST_CASE("a comparison is due in the step that the run went back to, where one was before") {
  CompiledShape it;
  lanes::StepShape& shape = it.tested;
  shape.state = lanes::Settled{};
  shape.incumbent = it.right_lane();
  const std::int64_t every = it.context.config.check_every;
  REQUIRE(every > 1);
  shape.next_check = it.machine.checks().next_after(every);
  it.machine.rolled_back(shape, every);
  CHECK(shape.next_check == every);
  it.machine.rolled_back(shape, every + 1);
  CHECK(shape.next_check == 2 * every);
}

TEST_CASE("of a program on trial and one in use, the one that ran the last step before the return is compared") {
  CompiledShape it;
  lanes::StepShape& shape = it.tested;
  it.machine.checks().compare_at({9});
  const lanes::Lane other(Lane::kCompiled, [](auto) {}, {nullptr, it.variant("other").key, 2});
  shape.incumbent = lanes::Lane(Lane::kCompiled, [](auto) {}, other.loaded());
  shape.state = lanes::Trialling{it.spoiling_lane()};
  it.run([] {});
  it.machine.rolled_back(shape, 5);
  CHECK(shape.next_check > 9);
  shape.state = lanes::Trialling{it.spoiling_lane()};
  it.executor.run_in(other, it.batch);
  it.machine.rolled_back(shape, 5);
  CHECK(shape.next_check == 9);
}

TEST_CASE("a lane under test when the run goes back is withheld") {
  CompiledShape it;
  lanes::StepShape& shape = it.tested;
  it.machine.checks().compare_at({9});
  shape.state = lanes::Trialling{it.spoiling_lane()};
  for (int times = 0; times < 2; ++times) {
    it.machine.rolled_back(shape, 5);
    CHECK(shape.is(lanes::StateId::kSearching));
    REQUIRE(shape.withheld);
    CHECK(shape.withheld->key() == it.key);
  }
  shape.withheld.reset();
  shape.state = lanes::Rechecking{2};
  it.machine.rolled_back(shape, 5);
  CHECK(shape.is(lanes::StateId::kSearching));
  CHECK_FALSE(shape.withheld);
}

TEST_CASE("a comparison that decided nothing before the run went back is repeated, and its small differences count") {
  CompiledShape it;
  lanes::StepShape& shape = it.tested;
  shape.incumbent = it.right_lane();
  shape.state = lanes::Rechecking{2};
  it.machine.rolled_back(shape, 5);
  CHECK(shape.next_check == 5);
  CHECK(shape.search.near_misses == 2);
  CHECK(it.machine.step(shape, it.batch, {5, 100}).event == lanes::ShapeEvent::kAgreed);
  CHECK(shape.search.near_misses == 0);

  shape.incumbent.reset();
  shape.state = lanes::Checking{it.right_lane(), 3};
  it.machine.rolled_back(shape, 5);
  it.machine.challenge(shape, *std::exchange(shape.withheld, std::nullopt));
  CHECK(std::get<lanes::Checking>(shape.state).near_misses == 3);
}

TEST_CASE(
    "an error that CUDA reports late between two steps has the ways out once a compiled program ran in the epoch") {
  CompiledRun it;
  const std::string late = "CUDA error: an illegal memory access was encountered";
  const auto text_of = [&](const auto& error) {
    const auto failure = it.executor.late_failure(error);
    if (!failure) return std::string();
    CHECK(failure->code() == base::ExitCode::kBug);
    return std::string(failure->what());
  };
  const std::runtime_error error(late);
  it.executor.run_in(lanes::Lane(Lane::kReplay, [](auto) {}), {});
  CHECK(text_of(error).empty());
  it.run([] {});
  it.executor.run_in(lanes::Lane(Lane::kReplay, [](auto) {}), {});
  const std::string text = text_of(error);
  CHECK_THAT(text,
             ContainsSubstring("the GPU failed: " + late + "\nThe compiled program " + it.key + " ran in this epoch"));
  CHECK_THAT(text, ContainsSubstring("esper train --resume RUN"));
  CHECK_THAT(text, ContainsSubstring("delete the package " + it.service.cache().entry_path(it.key)));
  CHECK_THAT(text, ContainsSubstring("--set step.lane=replay"));
  CHECK(it.is_in_cache());
  CHECK(it.figures.quarantined == 0);
  CHECK(it.reported("tolaria.compile_runtime_fallback", "reason") == Texts{late});
  CHECK(text_of(std::runtime_error("an index is out of range")).empty());
  CHECK(text_of(base::Error(base::ExitCode::kBug, late)).empty());  // of a step: it has the ways out
  it.executor.begin_epoch();
  CHECK(text_of(error).empty());
}

}  // namespace esper::test::shape_machine_test
