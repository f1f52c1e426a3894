// What is kept of a structure's steps when the network leaves it, and what is installed where it returns.

#include "lanes/structure_swap.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "unit/lanes/lane_parts.h"

namespace esper::test::structure_swap_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;
using lanes::StateId;

namespace {

constexpr std::int64_t kReturn = 10;  // step

// A shape of step whose candidates are compared one after the other, and used where they agree.
class Compared : LaneParts {
 public:
  Compared() {
    machine_.begin(*shape_);
    for (int n = 0; n < 100 && !shape_->is(StateId::kSearching); ++n) step();
    REQUIRE(shape_->is(StateId::kSearching));
  }

  // off: added to a parameter after its step. key: of its program, if it is compiled.
  void compare(Lane kind, const std::string& key, double off) {
    const auto run = [this, off](auto) {
      step::train_step(model->state, model->settings, batch_, context.forward);
      model->state.parameters.front().detach().add_(off);
    };
    machine_.challenge(*shape_, lanes::Lane(kind, run, {nullptr, key, key.empty() ? 0U : 1U}));
    step();
    CHECK((shape_->incumbent && shape_->incumbent->kind() == kind) == (off == 0));
  }
  lanes::KnownStructure known() const { return lanes::knowledge_of(shapes_, "structure", 0); }

  // The network leaves its structure, and comes back to it from one in which replay was the fastest. records: what the
  // journal of a resumed run has of the shape, from its first step on.
  lanes::StepShape& leave_and_return(const std::vector<lanes::LaneRecord>& records = {}) {
    lanes::LaneLog log;
    for (const auto& record : records) log.add(shape_->name, record);
    lanes::BitsJournal journal(std::move(log), nullptr);
    journal.restore(*shape_, 0);
    const lanes::KnownStructure left = known();
    shapes_.clear();
    lanes::CompileQueue queue(services, figures);
    lanes::StructureInstaller installer(context, shapes_, queue, machine_, journal);
    const lanes::DryRun::Examples examples{{left.steps.front().shape, {{}, batch_, 0}}};
    REQUIRE(installer.install(left, examples, Lane::kReplay, kReturn));
    return *shapes_.shapes().front();
  }

 private:
  void step() { machine_.step(*shape_, batch_, {}); }

  std::vector<step::Microbatch> batch_ = make_batches(c, 1);
  lanes::LaneFailures failures_{services, figures};
  lanes::LaneExecutor executor_{context, failures_};
  lanes::ShapeMachine machine_{context, executor_, lanes::ShapeMachine::Adoption::kOnAgreement};
  lanes::ShapeSet shapes_;
  lanes::StepShape* shape_ = &shapes_.add(model->network.structure_version(), batch_);
};

constexpr double kExact = 0, kWrong = 1;

}  // namespace

TEST_CASE("a replay that was not compared, or was wrong, is not used where a compiled step's structure returns") {
  Compared it;
  SECTION("the package was in the cache, so replay was not tried") { it.compare(Lane::kCompiled, "key", kExact); }
  SECTION("replay was wrong, and the package came later") {
    it.compare(Lane::kReplay, "", kWrong);
    it.compare(Lane::kCompiled, "key", kExact);
  }
  CHECK_FALSE(it.known().steps.front().replay_agreed);
  const lanes::StepShape& shape = it.leave_and_return();
  CHECK_FALSE(shape.incumbent);
  CHECK(shape.is(StateId::kSearching));
  CHECK_FALSE(shape.search.begun);
}

TEST_CASE("a replay that agreed before a compiled program did is used where the structure returns, and stays known") {
  Compared it;
  it.compare(Lane::kReplay, "", kExact);
  it.compare(Lane::kCompiled, "key", kExact);
  CHECK(it.known().steps.front().replay_agreed);
  const lanes::StepShape& shape = it.leave_and_return();
  REQUIRE(shape.incumbent);
  CHECK(shape.incumbent->kind() == Lane::kReplay);
  CHECK(shape.is(StateId::kTrialling));
  CHECK(it.known().steps.front().replay_agreed);
}

TEST_CASE("where eager runs a step there is nothing to use without a comparison") {
  Compared it;
  it.compare(Lane::kReplay, "", kWrong);
  CHECK_FALSE(it.known().steps.front().replay_agreed);
}

TEST_CASE("where the structure returns, a shape follows what the journal has of it, and no trial of before") {
  Compared it;
  it.compare(Lane::kReplay, "", kExact);
  const std::string key(32, 'a');
  SECTION("the records end with a trial") {
    const lanes::StepShape& shape = it.leave_and_return({{0, key, true}});
    CHECK(shape.is(StateId::kSearching));
    CHECK(shape.incumbent);
  }
  SECTION("they go on") { CHECK(it.leave_and_return({{0, key, true}, {kReturn + 1, ""}}).is(StateId::kFollowing)); }
}

TEST_CASE("a compiled program whose turn in a trial a resumed run repeats is not the lane in use") {
  LaneParts parts;
  lanes::ShapeSet shapes;
  lanes::StepShape& shape = shapes.add(parts.model->network.structure_version(), make_batches(parts.c, 1));
  shape.enter(lanes::ShapeEvent::kFollow, lanes::Following{});
  shape.incumbent = lanes::Lane(Lane::kCompiled, {}, {nullptr, "key", 1});
  CHECK(lanes::lane_in_use(parts.context, shapes) == Lane::kCompiled);
  shape.recorded.on_trial = true;
  CHECK(lanes::lane_in_use(parts.context, shapes) == Lane::kEager);
}

}  // namespace esper::test::structure_swap_test
