// What becomes of a compiled program whose step fails.

#include "lanes/shape/shape_machine.h"

#include <catch2/catch_test_macros.hpp>
#include <new>

#include "unit/lanes/compiling_step.h"

namespace esper::test::shape_machine_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;

namespace {

using Texts = std::vector<std::string>;

// A run whose cache has the program.
struct CompiledRun : CompilingStep {
  CompiledRun() { stock(key); }

  // Runs a step in a compiled lane that does this.
  void run(const std::function<void()>& step) {
    machine.run_in(lanes::Lane(Lane::kCompiled, [&](auto) { step(); }, {nullptr, key, 1}), {});
  }
  bool is_in_cache() { return service.cache().facts(key).has_value(); }

  const std::string key = variant("default").key;
  lanes::LaneFailures failures{services, figures};
  lanes::StepTally tally;
  lanes::ShapeMachine machine{context, failures, tally, lanes::ShapeMachine::Adoption::kWhenFaster};
};

}  // namespace

TEST_CASE("a compiled program whose step fails is quarantined, and the event has the cause without a backtrace") {
  CompiledRun it;
  CHECK_THROWS(it.run([] { TORCH_CHECK(false, "an index is out of range"); }));
  CHECK(it.reported("tolaria.compile_runtime_fallback", "error") == Texts{"step failed"});
  CHECK(it.reported("tolaria.compile_runtime_fallback", "reason") == Texts{"an index is out of range"});
  CHECK(it.figures.quarantined == 1);
  CHECK_FALSE(it.is_in_cache());
  CHECK(it.service.cache().quarantine_reason(it.key, program::EntryFault::kFailed) == "an index is out of range");
}

TEST_CASE("a lack of memory in a compiled step is not the program's fault") {
  CompiledRun it;
  CHECK_THROWS(it.run([] { throw std::bad_alloc(); }));
  CHECK_THROWS(it.run([] { throw std::runtime_error("the compiled program failed: CUDA out of memory"); }));
  CHECK(it.reported("tolaria.compile_runtime_fallback", "reason").empty());
  CHECK(it.figures.quarantined == 0);
  CHECK(it.is_in_cache());
}

}  // namespace esper::test::shape_machine_test
