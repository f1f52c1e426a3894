#include "jobs/progress/course.h"

#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "run_telemetry.h"

namespace esper::test::course_test {

using namespace esper;
using namespace esper::jobs::tests;
using jobs::Course;

namespace {

using Figures = std::vector<std::optional<double>>;
using Epochs = std::vector<std::int64_t>;

void take_epochs(Course& course, std::uint32_t from, std::uint32_t until) {
  for (std::uint32_t epoch = from; epoch <= until; ++epoch) course.take(epoch_line(epoch, 10.0 / epoch));
}

}  // namespace

TEST_CASE("an epoch's losses and validation figures are taken, others of its metrics are not") {
  Course course;
  course.take(epoch_line(1, 2));
  course.take(epoch_line(2, 1.5));
  const auto progress = course.since(0);
  CHECK(progress.epochs == 2);
  CHECK(progress.epoch == Epochs{1, 2});
  CHECK(progress.training_loss == Figures{2, 1.5});
  REQUIRE(progress.validation.size() == 2);
  CHECK(progress.validation.at("loss") == Figures{3, 2.5});
  CHECK(progress.validation.at("accuracy") == Figures{0.5, 0.5});
  CHECK(progress.updated == "2026-03-01T12:00:00.000000Z");
}

TEST_CASE("a loss that is not finite is missing") {
  Course course;
  course.take(epoch_line(1, std::numeric_limits<double>::quiet_NaN()));
  course.take(epoch_line(2, 1));
  CHECK(course.since(0).training_loss == Figures{std::nullopt, 1});
  CHECK(course.since(0).validation.at("loss") == Figures{std::nullopt, 2});
}

TEST_CASE("what came after a revision is what the next look lacks") {
  Course course;
  take_epochs(course, 1, 3);
  const auto seen = course.revision();
  CHECK(course.since(seen).epoch.empty());
  take_epochs(course, 4, 5);
  CHECK(course.revision() > seen);
  CHECK(course.since(seen).epoch == Epochs{4, 5});
  CHECK(course.since(seen).training_loss.size() == 2);
  CHECK(course.since(seen).validation.at("loss").size() == 2);
  CHECK(course.since(seen).epochs == 5);
}

TEST_CASE("epochs that a resumed run trains again take the place of those before") {
  Course course;
  take_epochs(course, 1, 6);
  const auto seen = course.revision();
  take_epochs(course, 4, 5);
  CHECK(course.since(0).epoch == Epochs{1, 2, 3, 4, 5});
  CHECK(course.since(seen).epoch == Epochs{4, 5});
}

TEST_CASE("the newest epochs are kept, and no more than the limit") {
  Course course;
  take_epochs(course, 1, jobs::kMostEpochsShown + 10);
  const auto progress = course.since(0);
  CHECK(progress.epoch.size() == jobs::kMostEpochsShown);
  CHECK(progress.epoch.front() == 11);
  CHECK(progress.epochs == jobs::kMostEpochsShown + 10);
}

TEST_CASE("seeds are those of the newest epoch, and of the one before while its own are not there yet") {
  Course course;
  take_epochs(course, 1, 1);
  course.take(seed_line(1, "seed-0001", "TRAINING", 0));
  course.take(seed_line(1, "seed-0002", "BLENDING", 0.25));
  auto seeds = course.since(0).seeds;
  REQUIRE(seeds.size() == 2);
  CHECK(seeds[1].seed_id == "seed-0002");
  CHECK(seeds[1].slot == "r0c0");
  CHECK(seeds[1].blueprint == "conv_light");
  CHECK(seeds[1].stage == "BLENDING");
  CHECK(seeds[1].alpha == 0.25);
  take_epochs(course, 2, 2);
  CHECK(course.since(0).seeds.size() == 2);
  course.take(seed_line(2, "seed-0002", "PROBATIONARY", 1));
  seeds = course.since(0).seeds;
  REQUIRE(seeds.size() == 1);
  CHECK(seeds[0].stage == "PROBATIONARY");
}

TEST_CASE("texts are made printable and shortened, a stage is one of the contract, and seeds are limited") {
  Course course;
  take_epochs(course, 1, 1);
  std::string id(1000, 'x');
  id.insert(0, "\x1b[2J<b>\n");
  course.take(seed_line(1, id, "<script>", 0.5));
  const auto seeds = course.since(0).seeds;
  REQUIRE(seeds.size() == 1);
  CHECK(seeds[0].seed_id.size() < 120);
  CHECK(seeds[0].seed_id.find_first_of("\x1b\n") == std::string::npos);
  CHECK(seeds[0].stage == "UNKNOWN");
  for (int i = 0; i < 1000; ++i) course.take(seed_line(1, "seed-" + std::to_string(i), "TRAINING", 0));
  CHECK(course.since(0).seeds.size() <= jobs::kMostSeedsShown);
}

TEST_CASE("lines that are no packets change nothing") {
  Course course;
  const std::string deep =
      R"({"packet_id":"x","metrics":[{"name":"tolaria.epochs.total","value":)" + std::string(100'000, '[') + "\n";
  const std::string no_epoch = epoch_line(1, 1);
  const std::string epoch = R"("epoch":"1")";
  std::string no_number = no_epoch;
  no_number.replace(no_number.find(epoch), epoch.size(), R"("epoch":"1x")");
  for (std::string line : {std::string(), std::string("tolaria.epochs.total"),
                           std::string("{\"tolaria.epochs.total\":1}"), std::string("[1,2]"), deep, std::string("null"),
                           std::string(1000, '\0'), no_epoch.substr(0, no_epoch.size() / 2), no_number,
                           std::string(R"({"metrics":[{"name":"tolaria.epochs.total","value":{}}],)"
                                       R"("system_health":{"indicators":{"epoch":"-4"}}})"),
                           std::string(R"({"metrics":[{"name":"tolaria.epochs.total"}],"system_health":[]})")}) {
    CAPTURE(line.substr(0, 60));
    course.take(line);
    CHECK(course.revision() == 0);
  }
}

}  // namespace esper::test::course_test
