// Programs that are not what their name in the cache says: refused before they touch the training state.
#include <catch2/catch_test_macros.hpp>

#include "base/names.h"
#include "integration/lanes/lane_room.h"
#include "kasmina/network/network_seeds.h"
#include "program/python_text.h"

namespace esper::test::wrong_program_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;

namespace {

LaneCase small_mlp() {
  LaneCase c = lane_case("mlp", config::HostKind::kMlp, leyline::features_shape(64, 64), 32);
  c.config.host.hidden = {64};
  c.config.training.optimizer.momentum = 0.9;
  return c;
}

struct Target {
  std::string text, recipe, key;
};

program::Program program_of_case(const LaneCase& c) {
  auto model = make_model(c);
  return program_of(*model, make_batches(c, 1));
}

// What the runner will look for.
Target target_of(const LaneCase& c, program::CompileService& compile_service) {
  const auto program = program_of_case(c);
  const auto recipes = compile_service.recipes(program);
  REQUIRE(recipes == std::vector<std::string>{"default"});
  return {program::python_text(program), recipes.front(), compile_service.key(program, recipes.front())};
}

std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  INFO(text);
  REQUIRE(at != std::string::npos);
  REQUIRE(text.find(from, at + 1) == std::string::npos);
  return std::string(text).replace(at, from.size(), to);
}

// A program with one operator changed, and the tensor whose change shows first.
struct Fault {
  const char* name;
  const char* from;
  const char* to;
  std::vector<std::string> tensors;
  int comparisons = 1;  // until it is refused
};

const Fault kMomentum = {"momentum 0.8 for 0.9",
                         ", a1, alpha=0.90000000000000002, out=a1)",
                         ", a1, alpha=0.8, out=a1)",
                         {"host.", "optimizer.momentum_buffer."}};
const Fault kCount = {
    "a lost sum of samples", "    _ = torch.ops.aten.add_.Tensor(a5, a9, alpha=1)\n", "", {"metrics.counts"}};
// So little that it might be a unit on the edge.
const Fault kSlight = {
    "momentum 0.895 for 0.9", kMomentum.from, ", a1, alpha=0.895, out=a1)", {"host.", "optimizer.momentum_buffer."}, 6};

// Trains with the wrong program in the cache, and again with what that left behind.
void check_refused(const Fault& fault, Lane lane) {
  CAPTURE(fault.name, base::name_of(lane));
  const LaneRoom room;
  const LaneCase c = small_mlp();
  const Target target = target_of(c, room.compile_service());
  const auto package = compile_text(room, replaced(target.text, fault.from, fault.to), target.recipe);
  plant(room, target.key, package);

  LaneRun eager(c, Lane::kEager, nullptr);
  eager.steps(60, c, 1);
  auto& compile_service = room.compile_service();
  LaneRun run(c, lane, &compile_service);
  run.steps(60, c, 1);
  CHECK(same_bits(*eager.model, *run.model));
  CHECK(run.figures().steps_in(Lane::kCompiled) == 0);
  CHECK(run.figures().quarantined == 1);
  if (lane == Lane::kCompiled) CHECK(run.figures().checks == fault.comparisons);
  CHECK(run.events_named("tolaria.compile_enabled").empty());
  const auto refused = run.events_named("tolaria.lane_refused");
  REQUIRE_FALSE(refused.empty());
  CHECK(refused.front().level == leyline::Level::kWarning);
  CHECK(refused.front().attributes.at("lane") == "compiled");
  const std::string tensor = refused.front().attributes.at("tensor");
  CAPTURE(tensor);
  CHECK(std::ranges::any_of(fault.tensors, [&](const auto& begin) { return tensor.starts_with(begin); }));

  CHECK_FALSE(compile_service.cache().find(target.key));
  CHECK(compile_service.cache().quarantine_reason(target.key, program::EntryFault::kWrong));
  CHECK(room.names_in("entries").empty());
  const auto later_compile_service = room.new_compile_service();
  LaneRun later(c, lane, later_compile_service.get());
  later.steps(60, c, 1);
  CHECK(same_bits(*eager.model, *later.model));
  CHECK(later.figures().steps_in(Lane::kCompiled) == 0);
  CHECK(later.events_named("tolaria.compile_started").empty());
  const auto events = later.events_named("tolaria.compile_fallback");
  REQUIRE(events.size() == 1);
  CHECK(events.front().attributes.at("error") == "quarantined");
  CHECK(events.front().attributes.at("reason").find("differs from eager") != std::string::npos);
}

// A package like `package` whose shared library ends in the middle.
std::string with_cut_library(const LaneRoom& room, const std::string& package) {
  const std::string cut = room.path / "cut.pt2";
  const auto finished =
      test::run_program({test::python_path(), "-c",
                         "import sys, zipfile\n"
                         "source, target = zipfile.ZipFile(sys.argv[1]), zipfile.ZipFile(sys.argv[2], 'w')\n"
                         "cut = 0\n"
                         "for item in source.infolist():\n"
                         "    data = source.read(item)\n"
                         "    if item.filename.endswith('.so'):\n"
                         "        cut, data = 1, data[:len(data) // 2]\n"
                         "    target.writestr(item, data)\n"
                         "target.close()\n"
                         "sys.exit(not cut)\n",
                         package, cut});
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  return cut;
}

// Trains to the end of eager's steps with a package that cannot be used; the runner then makes a good one.
void check_replaced(const LaneRoom& room, const LaneCase& c, const Target& target) {
  auto& compile_service = room.compile_service();
  LaneRun run(c, Lane::kCompiled, &compile_service), eager(c, Lane::kEager, nullptr);
  run.steps(2, c, 1);  // warm-up, and the step that is recorded
  eager.steps(2, c, 1);
  CHECK(same_bits(*eager.model, *run.model));
  const auto events = run.events_named("tolaria.compile_runtime_fallback");
  REQUIRE(events.size() == 1);
  CHECK(events.front().level == leyline::Level::kWarning);
  INFO(events.front().attributes.at("error"));
  CHECK_FALSE(events.front().attributes.at("error").empty());
  CHECK(run.figures().quarantined == 1);
  CHECK(room.names_in("quarantine").size() == 2);  // it, and the reason

  for (const auto& event : run.events_named("tolaria.compile_fallback")) UNSCOPED_INFO(event.attributes.at("reason"));
  CHECK(run.events_named("tolaria.compile_finished").size() == 1);
  run.steps(10, c, 3);
  CHECK(run.figures().steps_in(Lane::kCompiled) == 9);
  CHECK(compile_service.cache().find(target.key));
  // A good program took its place, and the next run uses that at once.
  LaneRun next(c, Lane::kCompiled, &compile_service);
  next.steps(12, c, 1);
  CHECK(next.figures().cache_hits == 1);
  CHECK(next.figures().steps_in(Lane::kCompiled) == 9);
  CHECK(next.events_named("tolaria.compile_started").empty());
}

}  // namespace

TEST_CASE("a wrong kernel in the cache is rejected, quarantined, and never touches the training state") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  check_refused(kMomentum, Lane::kCompiled);
  check_refused(kMomentum, Lane::kAuto);
  check_refused(kCount, Lane::kCompiled);
  check_refused(kSlight, Lane::kCompiled);
}

TEST_CASE("after a wrong kernel was rejected, auto still finds the fastest of the other lanes") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;
  const LaneCase c = small_mlp();
  const Target target = target_of(c, room.compile_service());
  plant(room, target.key, compile_text(room, replaced(target.text, kMomentum.from, kMomentum.to), target.recipe));
  LaneRun run(c, Lane::kAuto, &room.compile_service());
  run.steps(200, c, 1);
  CHECK(run.figures().steps_in(Lane::kReplay) >= 60);
}

TEST_CASE("a package whose library is cut short does not load, and a good one takes its place") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;
  const LaneCase c = small_mlp();
  const Target target = target_of(c, room.compile_service());
  plant(room, target.key, with_cut_library(room, compile_text(room, target.text, target.recipe)));
  check_replaced(room, c, target);
}

TEST_CASE("a program for other shapes under the right name is rejected before it runs") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;
  const LaneCase c = small_mlp();
  const Target target = target_of(c, room.compile_service());
  const auto other = persistent_compile_service().cache().find(lasting_package(program_of_case(lane_cases().front())));
  REQUIRE(other);
  const auto package = room.path / "other.pt2";
  std::filesystem::copy_file(other->file.path(), package);
  plant(room, target.key, package);
  check_replaced(room, c, target);
}

TEST_CASE("after a change of structure or batch size a compiled program of the former one never runs") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneCase c = small_mlp();
  LaneCase ragged = c;
  ragged.batch = 20;
  LaneRun run(c, Lane::kCompiled, &persistent_compile_service()), eager(c, Lane::kEager, nullptr);
  const auto both = [&](int count, const LaneCase& shape, std::uint64_t seed) {
    run.steps(count, shape, seed);
    eager.steps(count, shape, seed);
  };
  const auto close = [&] {
    const auto left = step::named_tensors(run.model->state), right = step::named_tensors(eager.model->state);
    REQUIRE(left.size() == right.size());
    for (std::size_t i = 0; i < left.size(); ++i) {
      INFO(left[i].id);
      CHECK(at::allclose(left[i].tensor, right[i].tensor, 1e-4, 1e-5));
    }
  };
  both(10, c, 1);
  CHECK(run.figures().steps_in(Lane::kCompiled) == 7);
  both(1, ragged, 50);  // a shape that was never seen: eager
  CHECK(run.figures().steps_in(Lane::kCompiled) == 7);
  both(5, c, 60);
  CHECK(run.figures().steps_in(Lane::kCompiled) == 12);
  close();

  const auto before = run.figures().steps_in(Lane::kCompiled);
  for (LaneRun* each : {&run, &eager}) {
    leyline::AdaptationCommand command;
    command.command_id = "grow";
    command.command_type = leyline::CommandType::kSeed;
    const auto slot = kasmina::export_slots(each->model->network.state()).front();
    command.seed_operation = {leyline::SeedOperation::kGerminate, slot.slot, slot.blueprints.front(), {}};
    each->model->network.apply(command, make_batches(c, 1).front().inputs);
    step::follow_structure(*each->model);
  }
  both(2, c, 90);  // warm-up and recording
  CHECK(run.figures().steps_in(Lane::kCompiled) == before);
  both(10, c, 100);
  CHECK(run.figures().steps_in(Lane::kCompiled) == before + 9);
  close();
}

}  // namespace esper::test::wrong_program_test
