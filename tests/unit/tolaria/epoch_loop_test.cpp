#include "tolaria/epoch_loop.h"

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <nlohmann/json.hpp>

#include "support/faults/armed_fault.h"
#include "support/run_fixture.h"
#include "tolaria/evaluation/measure.h"
#include "tolaria/summary.h"

namespace esper::test::epoch_loop_test {

using step::Microbatch;
using step::read_metrics;
using step::train_step;
using tolaria::CheckpointImage;
using tolaria::exit_code_of;
using tolaria::list_checkpoints;
using tolaria::read_checkpoint;
using tolaria::Run;
using tolaria::run_epochs;
using tolaria::run_progress_from_json;
using tolaria::RunOutcome;
using tolaria::validation_pass;

namespace {

using leyline::Decision;
using leyline::Observation;
using leyline::SeedOperation;
using Kind = RunOutcome::Kind;

CheckpointImage checkpoint_at(SmallRun& it, std::int64_t step) {
  for (const auto& entry : list_checkpoints(it.files, kCheckpoints)) {
    if (entry.step == step) return *read_checkpoint(it.files, entry.path);
  }
  FAIL("no checkpoint at step " << step);
  return {};
}

config::RunConfig busy_config() {
  auto config = small_config();
  config.epochs = 4;
  config.host.dropout = 0.2;
  config.training.ema_decay = 0.9;
  config.training.optimizer.kind = config::OptimizerKind::kAdamw;
  config.step.accumulation = 2;
  config.checkpoint.every = {1, base::Length::Unit::kSteps};
  config.checkpoint.keep_last = 100;
  return config;
}

Decision grow_and_train(const Observation& seen) {
  if (seen.current_epoch == 1) return {{germination(seen)}, ""};
  if (seen.current_epoch == 2) return {{seed_command(seen, SeedOperation::kStartTraining, "seed-0001")}, ""};
  return {};
}

}  // namespace

TEST_CASE("microbatches that are left over at the end of an epoch make a step of their own") {
  for (const int accumulation : {1, 2, 4, 5, 6, 7}) {
    INFO("accumulation " << accumulation);
    auto config = small_config();
    config.epochs = 2;
    config.step.accumulation = accumulation;
    SmallRun it(config);
    REQUIRE(it.go().kind == Kind::kDone);
    CHECK(it.run.progress.step == 2 * ((6 + accumulation - 1) / accumulation));
    CHECK(it.run.progress.epoch == 2);

    // The same by hand: each batch of both epochs once, in order.
    SmallRun plain(config);
    for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
      std::vector<Microbatch> microbatches;
      for (std::int64_t i = 0; i < 6; ++i) {
        plain.train_data->seek(epoch, i);
        const auto batch = plain.train_data->next();
        microbatches.push_back({batch->inputs, batch->targets});
        if (static_cast<int>(microbatches.size()) < accumulation && i < 5) continue;
        train_step(plain.model->state, plain.model->settings, microbatches,
                   [&](const torch::Tensor& x, kasmina::SlotTaps*) {
                     return plain.model->network.forward(x, kasmina::Mode::kTrain);
                   });
        microbatches.clear();
      }
      CHECK(read_metrics(plain.model->state).samples == 48);
    }
    CHECK(differing(it.bits(), plain.bits()) == std::vector<std::string>{});
  }
}

TEST_CASE("where batches come from changes nothing") {
  SmallRun it(small_config());
  it.go();
  for (const int way : {0, 1, 2, 3}) {
    CAPTURE(way);
    SmallRun other(small_config());
    data::LoaderConfig loader;
    loader.batch_size = 8;
    loader.workers = 2;
    loader.seed = small_config().seed;
    if (way == 1) loader.worker_life = data::WorkerLife::kEpoch;
    if (way == 2) loader.source = data::Source::kResident;
    if (way == 3) loader.staging = data::Staging::kPinned;
    const ArmedFault refused("device.pinned_memory", 1, base::fault::kEveryHit);
    data::Loader train_data(other.data.train, other.data.standardization, loader);
    loader.order = data::Order::kSequential;
    data::Loader validation_data(other.data.validation, other.data.standardization, loader);
    Run run{.facts = other.facts,
            .progress = other.progress,
            .model = *other.model,
            .data = {train_data, validation_data, other.run.data.probe},
            .policy = other.policy,
            .lanes = {},
            .saver = other.saver,
            .outbox = other.outbox,
            .ledger = other.ledger,
            .display = other.display};
    run_epochs(run);
    CHECK(differing(it.bits(), other.bits()) == std::vector<std::string>{});
    const auto pageable = other.events("tolaria.pinned_memory_refused");
    CHECK(pageable.size() == (way == 3 ? 1 : 0));
    for (const auto& event : pageable) CHECK(event.attributes.at("reason") == "fault point device.pinned_memory");
  }
}

TEST_CASE("validation is validation: the figures are of samples that were not trained on") {
  SmallRun it;
  it.go();
  const auto validation = validation_pass(*it.model, *it.validation_data, torch::kCPU);
  CHECK(it.run.progress.validation->loss == validation.loss);
  CHECK(it.run.progress.validation->score == validation.score);
  CHECK(validation.samples == 16);
  CHECK(it.run.progress.train.loss != it.run.progress.validation->loss);
  CHECK(it.run.progress.train.score != it.run.progress.validation->score);
}

TEST_CASE("a run ends early when validation no longer improves") {
  auto config = small_config();
  config.epochs = 20;
  config.training.optimizer.lr = 0;
  config.training.early_stop_epochs = 3;
  SmallRun it(config);
  const auto outcome = it.go();
  CHECK(outcome.kind == Kind::kEarlyStopped);
  CHECK(exit_code_of(outcome) == base::ExitCode::kDone);
  CHECK(outcome.reason == "validation loss no longer improves");
  CHECK(it.run.progress.epoch == 4);  // the first one is the best, then three without a better one
  CHECK(it.run.progress.best->epoch == 1);
  const auto stopped = it.events("tolaria.early_stop");
  REQUIRE(stopped.size() == 1);
  const auto& said = stopped.front().attributes;
  CHECK(said.at("epoch") == "4");
  CHECK(said.at("best_epoch") == "1");
  CHECK(std::stod(said.at("best_loss")) == it.run.progress.best->figures.loss);
  CHECK(said.at("patience") == "3");
  CHECK(said.at("reason") == outcome.reason);
}

TEST_CASE("a gain below early_stop_min_delta does not count") {
  auto config = small_config();
  config.epochs = 20;
  config.training.early_stop_epochs = 2;
  config.training.early_stop_min_delta = 100;
  SmallRun it(config);
  CHECK(it.go().kind == Kind::kEarlyStopped);
  CHECK(it.run.progress.epoch == 3);
}

TEST_CASE("a run goes on from the middle of an epoch, and from its end, to the same bits") {
  const auto config = busy_config();  // three steps an epoch
  SmallRun whole(config, grow_and_train);
  REQUIRE(whole.go().kind == Kind::kDone);
  const auto expected = whole.bits();
  for (std::int64_t step = 1; step < 12; ++step) {
    INFO("from step " << step);
    const auto image = checkpoint_at(whole, step);
    SmallRun resumed(config, grow_and_train, image);
    if (step % 3 != 0) CHECK(resumed.run.progress.batch == 2 * (step % 3));
    REQUIRE(resumed.go().kind == Kind::kDone);
    CHECK(differing(expected, resumed.bits()) == std::vector<std::string>{});
    CHECK(resumed.run.progress.train.loss == whole.run.progress.train.loss);
    CHECK(resumed.run.progress.validation->loss == whole.run.progress.validation->loss);
    CHECK(resumed.run.progress.best->figures.loss == whole.run.progress.best->figures.loss);
    CHECK(resumed.run.progress.wall_s > 0);
  }
}

TEST_CASE("a run that is at its end already trains and saves nothing more") {
  SmallRun whole;
  REQUIRE(whole.go().kind == Kind::kDone);
  SmallRun again(small_config(), quiet(), checkpoint_at(whole, 18));
  CHECK(again.go().kind == Kind::kDone);
  CHECK(again.run.progress.step == 18);
  CHECK(again.files.names_in(kCheckpoints).empty());
  CHECK(differing(whole.bits(), again.bits()) == std::vector<std::string>{});
}

TEST_CASE("a signal saves the state and ends the run with its exit code") {
  for (const int signal : {SIGINT, SIGTERM}) {
    SmallRun it(small_config(), [signal](const Observation& seen) {
      if (seen.current_epoch == 2) raise(signal);
      return Decision{};
    });
    const auto outcome = it.go();
    CHECK(outcome.kind == Kind::kInterrupted);
    CHECK(outcome.signal == signal);
    CHECK(static_cast<int>(exit_code_of(outcome)) == 128 + signal);
    CHECK(it.events("tolaria.interrupted").size() == 1);
    CHECK(it.run.progress.epoch == 2);
    CHECK(it.run.progress.step == 12);  // none of the epoch to come

    const auto image = checkpoint_at(it, 12);
    SmallRun resumed(small_config(), quiet(), image);
    CHECK(resumed.go().kind == Kind::kDone);
    SmallRun whole;
    whole.go();
    CHECK(differing(whole.bits(), resumed.bits()) == std::vector<std::string>{});
  }
}

TEST_CASE("an epoch whose loss is suspect is not saved, though a save is due and it is the best one so far") {
  const ArmedFault jumps("tolaria.validation_loss");
  SmallRun it;
  it.progress.safety.losses.assign(10, 0.4);
  REQUIRE(it.go().kind == Kind::kDone);
  CHECK(it.events("tolaria.loss_suspect").size() == 1);
  std::vector<std::string> saved;
  for (const auto& event : it.events("tolaria.checkpoint_saved")) saved.push_back(event.attributes.at("epoch"));
  CHECK(saved == std::vector<std::string>{"2", "3"});
}

TEST_CASE("what a checkpoint says of its place in the run is exact") {
  SmallRun it(busy_config(), grow_and_train);
  it.go();
  const auto image = checkpoint_at(it, 5);
  const auto progress = run_progress_from_json(image.run.at("progress"));
  CHECK(image.info.epoch == 1);
  CHECK(progress.epoch == 1);
  CHECK(progress.batch == 4);
  CHECK(progress.step == 5);
  CHECK(progress.wall_s > 0);
  CHECK(image.run.at("controller") == "{\"epoch\":1}");
}

}  // namespace esper::test::epoch_loop_test
