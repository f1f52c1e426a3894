#include "tolaria/run/resume.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "step/model.h"
#include "storage/file_tools.h"
#include "support/checkpoint_fixture.h"
#include "support/run_fixture.h"

namespace esper::test::resume_test {

using Catch::Matchers::ContainsSubstring;
using tolaria::CheckpointStore;
using tolaria::Reaction;
using tolaria::ResumePoint;
using Names = std::vector<std::string>;

namespace {

const std::string kFirst = "epoch-0001-step-000000010", kSecond = "epoch-0002-step-000000020";

// A run folder whose process has ended.
struct Folder {
  Folder() { storage::ensure_folder(files, kCheckpoints); }

  void publish(std::uint32_t epoch) { store().publish(small_image(epoch), CheckpointStore::Rank::kOrdinary); }
  // The run reacted to a failure, and computes in fp32 from this step on.
  void go_back_to(std::int64_t step) { store().record(tolaria::reaction_json({1, Reaction::kFullPrecision, step})); }
  void damage(const std::string& name) {
    files.put(std::string(kCheckpoints) + "/" + name + "/state.safetensors", "short");
  }
  // newest_step: of a run that goes back in the same process.
  ResumePoint resume(std::optional<std::int64_t> newest_step = {}) {
    return tolaria::find_resume_point(files, "/run",
                                      {.config = config,
                                       .identity = identity,
                                       .device = torch::kCPU,
                                       .build = build,
                                       .changes = {},
                                       .newest_step = newest_step},
                                      policy);
  }
  Names checkpoints() const { return files.names_in(kCheckpoints); }

  CheckpointStore store() { return {files, kCheckpoints, kJournal, config.checkpoint}; }

  FaultyFileSystem files;
  config::RunConfig config = small_config();
  lanes::ModelFactory build;
  tolaria::TrainingIdentity identity;
  tamiyo::RunPolicy policy{
      std::make_unique<tamiyo::Consultation>(scripted(quiet()), base::Clock(), config.safety.policy_deadline)};
};

std::string refusal(Folder& folder, std::optional<std::int64_t> newest_step = {}) {
  try {
    folder.resume(newest_step);
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ExitCode::kCheckpoint);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a run that goes back to its beginning does not need the checkpoints of what it undoes") {
  Folder folder;
  folder.publish(1);
  folder.publish(2);
  folder.damage(kSecond);
  const auto point = folder.resume(0);
  CHECK(point.checkpoint.empty());
  CHECK(point.model == nullptr);
  REQUIRE(point.refused.size() == 2);
  CHECK(point.refused[0].path == kCheckpoints + ("/" + kSecond + ".bad"));
  CHECK(point.refused[1].path == kCheckpoints + ("/" + kFirst + ".unread"));
  CHECK(folder.checkpoints() == Names{kFirst + ".unread", kSecond + ".bad"});
}

TEST_CASE("a run that goes back to a damaged checkpoint does not start from its beginning instead") {
  Folder folder;
  folder.publish(1);
  folder.publish(2);
  folder.damage(kFirst);
  CHECK_THAT(refusal(folder, 10), ContainsSubstring(kFirst + ".bad"));
  CHECK(folder.checkpoints() == Names{kFirst + ".bad", kSecond});
}

TEST_CASE("a run that was killed after it went back to its beginning starts there, whatever became of checkpoints") {
  Folder folder;
  folder.publish(1);
  folder.publish(2);
  folder.go_back_to(0);
  folder.damage(kFirst);
  folder.damage(kSecond);
  const auto point = folder.resume();
  CHECK(point.checkpoint.empty());
  CHECK(point.refused.size() == 2);
  CHECK(point.progress.safety.full_precision);
}

TEST_CASE("a checkpoint that was saved after the run went back to its beginning is missed when it is damaged") {
  Folder folder;
  folder.publish(1);
  folder.go_back_to(0);
  folder.publish(2);
  folder.damage(kFirst);
  folder.damage(kSecond);
  CHECK_THAT(refusal(folder), ContainsSubstring(kSecond + ".bad"));
}

TEST_CASE("a journal whose first records are lost still shows that there was a checkpoint to go back to") {
  Folder folder;
  folder.store().record(R"({"what":"segment","epoch":1,"step":10,"records":7,"topology":{"seeds_born":0,"slots":[]}})");
  folder.go_back_to(12);
  CHECK_THAT(refusal(folder), ContainsSubstring("had checkpoints"));
}

TEST_CASE("a checkpoint with a tensor that is not finite is put aside as damaged") {
  Folder folder;
  folder.publish(1);
  auto image = small_image(2);
  image.tensors.front().tensor[7] = std::numeric_limits<double>::quiet_NaN();
  folder.store().publish(image, CheckpointStore::Rank::kOrdinary);
  CHECK_THAT(refusal(folder), ContainsSubstring(kSecond + ".bad: state.safetensors: tensor w is not finite"));
  CHECK(folder.checkpoints() == Names{kFirst, kSecond + ".bad"});
}

TEST_CASE("a checkpoint that is refused, by whatever it is, leaves the policy as it was") {
  SmallRun trained;
  REQUIRE(trained.go().kind == tolaria::RunOutcome::Kind::kDone);
  auto image = newest_checkpoint(trained);
  Folder folder;
  folder.build = [&] {
    return step::build_model(folder.config, trained.data.train.shape,
                             step::step_settings(folder.config, torch::kFloat32), torch::kCPU);
  };
  image.info.training_hash = folder.identity.text();
  auto controller = nlohmann::json::parse(image.run.at("controller").get<std::string>());
  std::string reason;
  SECTION("an open question that cannot be read") {
    controller["question"] = {{"observation", {{"current_epoch", "x"}}}};
    image.run["controller"] = controller.dump();
    reason = "open question";
  }
  SECTION("a device that is no text") {
    image.run["computed_on"] = 7;
    reason = "must be string";
  }
  folder.store().publish(image, CheckpointStore::Rank::kOrdinary);
  const auto before = folder.policy.state();
  CHECK_THAT(refusal(folder), ContainsSubstring(reason));
  CHECK(folder.policy.state() == before);
}

}  // namespace esper::test::resume_test
