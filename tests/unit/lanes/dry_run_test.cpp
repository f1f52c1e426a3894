// What a dry run makes of a package in the cache.

#include "lanes/structure/dry_run.h"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "unit/lanes/compiling_step.h"

namespace esper::test::dry_run_test {

using namespace esper;
using namespace esper::tests;

namespace {

// A structure whose replay agreed with eager, and whose package was compiled since.
struct PackageArrived : CompilingStep {
  PackageArrived() {
    const auto batch = make_batches(c, 1);
    lanes::ShapeSet shapes;
    const lanes::StepShape& shape = shapes.add(model->network.structure_version(), batch);
    examples[shape.name] = {shape.sizes, batch, 1000};
    lanes::KnownStep step{shape.name, recorded};
    step.replay_agreed = step.in_cache = true;
    step.variant = wanted;
    known.steps.push_back(std::move(step));
    stock(wanted.key);
  }

  // The step as it is known after the dry run.
  lanes::KnownStep tried() {
    lanes::DryRun run{context, failures, examples, make_model(c), known, {}};
    for (int n = 0; n < 1000 && !run.is_done(); ++n) run.advance();
    REQUIRE(run.is_done());
    REQUIRE(run.known().steps.size() == 1);
    return run.known().steps.front();
  }

  const lanes::Variant wanted = variant("default", program::CompileEffort::kFull);
  lanes::LaneFailures failures{services, figures};
  lanes::DryRun::Examples examples;
  lanes::KnownStructure known{"structure"};
};

}  // namespace

TEST_CASE("a damaged package is reported by a dry run, and compiled again") {
  PackageArrived it;
  std::filesystem::resize_file(it.service.cache().entry_path(it.wanted.key), 50);
  const auto step = it.tried();
  CHECK(step.waits_for_package());
  CHECK_FALSE(step.in_cache);
  CHECK(it.figures.quarantined == 1);
  CHECK(it.reported("tolaria.compile_runtime_fallback", "error").size() == 1);
}

TEST_CASE("a package that this machine cannot load costs a structure its compiled program, not its replay") {
  PackageArrived it;
  const test::EnvironmentVariable nowhere("TMPDIR", it.folder / "no such folder");
  const auto step = it.tried();
  CHECK(step.replay_agreed);
  CHECK(step.unavailable);
  CHECK_FALSE(step.ready);
  CHECK(it.figures.quarantined == 0);
  CHECK(it.reported("tolaria.compile_runtime_fallback", "error").size() == 1);
}

}  // namespace esper::test::dry_run_test
