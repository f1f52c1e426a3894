#include "tolaria/checkpoint/checkpoint_store.h"

#include <c10/util/Exception.h>
#include <fmt/core.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <new>

#include "storage/atomic_publish.h"
#include "storage/checksum.h"
#include "storage/confined_file_system.h"
#include "storage/file_tools.h"
#include "storage/journal/journal.h"
#include "support/checkpoint_fixture.h"
#include "support/temporary_folder.h"
#include "unit/storage/fault_loop.h"

namespace esper::test::checkpoint_store_test {

using tolaria::best_checkpoint;
using tolaria::CheckpointImage;
using tolaria::CheckpointStore;
using tolaria::had_checkpoints;
using tolaria::list_checkpoints;
using tolaria::read_checkpoint;
using tolaria::RefusedCheckpoint;
using tolaria::restore_newest;
using tolaria::try_load;

namespace {

using esper::test::FaultScenario;
using esper::test::FaultyFileSystem;
using esper::test::Outcome;
using Rank = CheckpointStore::Rank;

constexpr char kFolder[] = "/run/checkpoints";
constexpr char kJournal[] = "/run/journal";

std::string path_of(std::uint32_t epoch) {
  return std::string(kFolder) + "/epoch-000" + std::to_string(epoch) + "-step-0000000" + std::to_string(10 * epoch);
}

CheckpointStore open_store(FaultyFileSystem& files, config::CheckpointConfig config) {
  storage::ensure_folder(files, kFolder);
  return {files, kFolder, kJournal, config};
}

std::vector<std::uint32_t> epochs_in(const CheckpointStore& store) {
  std::vector<std::uint32_t> epochs;
  for (const auto& entry : store.entries()) epochs.push_back(entry.epoch);
  return epochs;
}

base::Expected<void> accept_any(const CheckpointImage&) { return {}; }

// The epoch whose state a resumed run gets; 0 if none.
std::uint32_t restored(FaultyFileSystem& files) {
  std::uint32_t epoch = 0;
  std::vector<RefusedCheckpoint> refused;
  const auto take = [&](const CheckpointImage& image) {
    epoch = image.info.epoch;
    CHECK(image.tensors.front().tensor[0].item<float>() == static_cast<float>(epoch));
    return base::Expected<void>();
  };
  restore_newest(files, kFolder, take, refused);
  CHECK(refused.empty());
  return epoch;
}

}  // namespace

TEST_CASE("names sort by time, and only names that a run publishes are listed") {
  FaultyFileSystem files;
  auto store = open_store(files, keeping(5, false));
  store.publish(small_image(2), Rank::kOrdinary);
  const auto published = store.publish(small_image(3), Rank::kOrdinary);
  CHECK(published.entry.path == "/run/checkpoints/epoch-0003-step-000000030");
  for (const auto* name : {"epoch-0009-step-000000090.bad", "epoch-0009-step-000000090.tmp-1", "epoch-9-step-90", "x",
                           "epoch-0009-step-000000090x", "epoch-0009-step-"}) {
    files.make_folder(fmt::format("{}/{}", kFolder, name));
  }
  files.put(std::string(kFolder) + "/epoch-0008-step-000000080", "a file");
  const auto listed = list_checkpoints(files, kFolder);
  REQUIRE(listed.size() == 2);
  CHECK(listed[0].path == path_of(2));
  CHECK((listed[1].step == 30 && listed[1].epoch == 3));
}

TEST_CASE("the newest are kept, and the best one with them") {
  FaultyFileSystem files;
  auto store = open_store(files, keeping(2, true));
  for (std::uint32_t epoch = 1; epoch <= 5; ++epoch) {
    store.publish(small_image(epoch), epoch == 2 ? Rank::kBest : Rank::kOrdinary);
  }
  CHECK(epochs_in(store) == std::vector<std::uint32_t>{2, 4, 5});
  CHECK(best_checkpoint(files, kFolder, kJournal) == "epoch-0002-step-000000020");
  CHECK(list_checkpoints(files, kFolder).size() == 3);

  // A new process knows it from the journal; the next best one takes its place.
  auto again = open_store(files, keeping(2, true));
  again.publish(small_image(6), Rank::kOrdinary);
  CHECK(epochs_in(again) == std::vector<std::uint32_t>{2, 5, 6});
  again.publish(small_image(7), Rank::kBest);
  CHECK(epochs_in(again) == std::vector<std::uint32_t>{6, 7});

  auto without = open_store(files, keeping(1, false));
  without.publish(small_image(8), Rank::kOrdinary);
  CHECK(epochs_in(without) == std::vector<std::uint32_t>{8});
}

TEST_CASE("the best checkpoint is known from the checkpoints themselves, whatever the journal says") {
  // Epoch 2 was the best; each image says what was best so far, as a run's does.
  const auto image = [](std::uint32_t epoch) {
    auto made = small_image(epoch);
    made.run["progress"] = {{"epoch", epoch}, {"batch", 0}, {"best", {{"epoch", std::min(epoch, 2u)}}}};
    return made;
  };
  const std::string journal = GENERATE("moved away", "emptied", "cut off", "of another run");
  CAPTURE(journal);
  FaultyFileSystem files;
  {
    auto store = open_store(files, keeping(1, true));
    for (std::uint32_t epoch = 1; epoch <= 4; ++epoch) {
      store.publish(image(epoch), epoch <= 2 ? Rank::kBest : Rank::kOrdinary);
    }
  }
  if (journal == "moved away") files.remove(kJournal);
  if (journal == "emptied") files.put(kJournal, "");
  if (journal == "cut off") files.put(kJournal, "ESPERJ1\n" + std::string(20, '\1'));
  if (journal == "of another run") {
    files.remove(kJournal);
    storage::JournalWriter(files, kJournal)
        .append(R"({"what":"checkpoint","name":"epoch-0004-step-000000040","best":true})");
  }
  CHECK(best_checkpoint(files, kFolder, kJournal) == "epoch-0002-step-000000020");
  auto again = open_store(files, keeping(1, true));
  again.publish(image(5), Rank::kOrdinary);
  CHECK(epochs_in(again) == std::vector<std::uint32_t>{2, 5});
  CHECK(read_checkpoint(files, path_of(2)));
}

TEST_CASE("records with fields of another type name no best checkpoint, and do no harm") {
  FaultyFileSystem files;
  {
    open_store(files, keeping(3, true)).publish(small_image(1), Rank::kBest);
  }
  storage::JournalWriter journal(files, kJournal);
  for (const auto* text : {R"({"what":5})", R"({"what":"checkpoint","best":"yes","name":"x"})", R"({"what":null})",
                           R"({"what":"checkpoint","best":1,"name":"x"})", R"([1])", "7"}) {
    journal.append(text);
  }
  CHECK(best_checkpoint(files, kFolder, kJournal) == "epoch-0001-step-000000010");
  journal.append(R"({"what":"checkpoint","best":true,"name":5})");
  CHECK(best_checkpoint(files, kFolder, kJournal).empty());
}

TEST_CASE("a good step that is no whole number is reported with its field") {
  FaultyFileSystem files;
  auto store = open_store(files, keeping(2, false));
  auto image = small_image(1);
  image.run[nlohmann::json::json_pointer("/progress/safety/good_step")] = 1.5;
  CHECK_THROWS_WITH(store.publish(image, Rank::kOrdinary),
                    Catch::Matchers::ContainsSubstring("good_step: 1.5 is not a whole number"));
}

TEST_CASE("a state from within the epoch after the best one is not the best") {
  FaultyFileSystem files;
  auto store = open_store(files, keeping(9, true));
  auto within = small_image(2);
  within.run["progress"] = {{"epoch", 2}, {"batch", 3}, {"best", {{"epoch", 2}}}};
  store.publish(within, Rank::kOrdinary);
  CHECK(best_checkpoint(files, kFolder, kJournal).empty());
  files.put(path_of(2) + "/run.json", "{\"progress\": 7}");
  CHECK(best_checkpoint(files, kFolder, kJournal).empty());
}

TEST_CASE("a state that is on the disk already is not written again, but can become the best") {
  FaultyFileSystem files;
  auto store = open_store(files, keeping(3, true));
  CHECK(store.publish(small_image(1), Rank::kOrdinary).bytes > 0);
  CHECK(store.publish(small_image(1), Rank::kOrdinary).bytes == 0);
  CHECK(best_checkpoint(files, kFolder, kJournal).empty());
  CHECK(store.publish(small_image(1), Rank::kBest).bytes == 0);
  CHECK(best_checkpoint(files, kFolder, kJournal) == "epoch-0001-step-000000010");
  CHECK(epochs_in(store) == std::vector<std::uint32_t>{1});
}

TEST_CASE("another state or a damaged one under the name makes room for the right one") {
  FaultyFileSystem files;
  auto store = open_store(files, keeping(3, true));
  store.publish(small_image(1, "of another configuration"), Rank::kOrdinary);
  CHECK(store.publish(small_image(1), Rank::kOrdinary).bytes > 0);
  CHECK(read_checkpoint(files, path_of(1))->info.training_hash == "hash");
  CHECK(read_checkpoint(files, path_of(1) + ".unread")->info.training_hash == "of another configuration");

  files.put(path_of(1) + "/run.json", "{}");
  CHECK(store.publish(small_image(1), Rank::kOrdinary).bytes > 0);
  CHECK(read_checkpoint(files, path_of(1)));
  CHECK(epochs_in(store) == std::vector<std::uint32_t>{1});
  CHECK(files.names_in(kFolder) == std::vector<std::string>{"epoch-0001-step-000000010",
                                                            "epoch-0001-step-000000010.bad",
                                                            "epoch-0001-step-000000010.unread"});
}

TEST_CASE("the newest good one is taken; damaged ones and those of others make room under different names") {
  FaultyFileSystem files;
  {
    auto store = open_store(files, keeping(9, false));
    for (std::uint32_t epoch = 1; epoch <= 3; ++epoch) store.publish(small_image(epoch), Rank::kOrdinary);
    store.publish(small_image(4, "foreign"), Rank::kOrdinary);
  }
  files.put(path_of(3) + "/state.safetensors", "short");
  std::vector<RefusedCheckpoint> refused;
  const auto accept = [](const CheckpointImage& image) -> base::Expected<void> {
    if (image.info.training_hash != "hash") return base::failure("it belongs to another configuration");
    return {};
  };
  CHECK(restore_newest(files, kFolder, accept, refused) == path_of(2));
  REQUIRE(refused.size() == 2);
  CHECK(refused[0].path == path_of(3) + ".bad");
  CHECK(refused[0].reason.find("state.safetensors has 5 bytes") != std::string::npos);
  CHECK(refused[1].path == path_of(4) + ".unread");
  CHECK(refused[1].reason == "it belongs to another configuration");
  CHECK(list_checkpoints(files, kFolder).size() == 2);

  // Where none will do, those of others stay for those others.
  refused.clear();
  const auto no = [](const CheckpointImage&) { return base::failure("no"); };
  CHECK(restore_newest(files, kFolder, no, refused).empty());
  CHECK(refused.size() == 2);
  CHECK(list_checkpoints(files, kFolder).size() == 2);
}

TEST_CASE("a checkpoint under another one's name is not taken for what its name says") {
  FaultyFileSystem files;
  {
    auto store = open_store(files, keeping(9, false));
    for (std::uint32_t epoch = 1; epoch <= 2; ++epoch) store.publish(small_image(epoch), Rank::kOrdinary);
  }
  files.rename(path_of(1), path_of(7));
  std::vector<RefusedCheckpoint> refused;
  const auto all = [](const CheckpointImage&) -> base::Expected<void> { return {}; };
  CHECK(restore_newest(files, kFolder, all, refused) == path_of(2));
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].path == path_of(7));
  const std::string name = path_of(1).substr(path_of(1).find_last_of('/') + 1);
  CHECK(refused[0].reason == "its content is that of " + name + "; rename it so, or move it away");
}

TEST_CASE(
    "no checkpoint is renamed for a lack of memory or a policy's process that cannot go on; one that is not understood "
    "is not called damaged") {
  FaultyFileSystem files;
  {
    auto store = open_store(files, keeping(9, false));
    for (std::uint32_t epoch = 1; epoch <= 3; ++epoch) store.publish(small_image(epoch), Rank::kOrdinary);
  }
  std::function<void()> loading_the_second = [] { throw std::bad_alloc(); };
  std::vector<RefusedCheckpoint> refused;
  const auto accept = [&](const CheckpointImage& image) {
    return try_load([&]() -> base::Expected<void> {
      if (image.info.epoch == 3) return base::failure(image.run.at("a field of another version").get<std::string>());
      if (image.info.epoch == 2) loading_the_second();
      return {};
    });
  };
  CHECK_THROWS_AS(restore_newest(files, kFolder, accept, refused), std::bad_alloc);
  loading_the_second = [] { TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory"); };
  CHECK_THROWS_AS(restore_newest(files, kFolder, accept, refused), c10::OutOfMemoryError);
  loading_the_second = [] { throw base::Error(base::ExitCode::kPolicy, "it was not ready in time"); };
  CHECK_THROWS_AS(restore_newest(files, kFolder, accept, refused), base::Error);
  CHECK(list_checkpoints(files, kFolder).size() == 3);
  CHECK(restored(files) == 3);

  refused.clear();
  loading_the_second = [] {};
  CHECK(restore_newest(files, kFolder, accept, refused) == path_of(2));
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].path == path_of(3) + ".unread");
  CHECK(refused[0].reason.find("a field of another version") != std::string::npos);
}

TEST_CASE("checkpoints that cannot be read now are neither deleted nor counted while the run goes on") {
  FaultyFileSystem files;
  {
    auto store = open_store(files, keeping(9, false));
    for (std::uint32_t epoch = 1; epoch <= 5; ++epoch) store.publish(small_image(epoch), Rank::kOrdinary);
  }
  const auto state_of = [](std::uint32_t epoch) { return path_of(epoch) + "/state.safetensors"; };
  const auto fourth = *files.contents(state_of(4)), fifth = *files.contents(state_of(5));
  files.remove(state_of(4));
  files.remove(state_of(5));
  std::vector<RefusedCheckpoint> refused;
  CHECK(restore_newest(files, kFolder, accept_any, refused) == path_of(3));

  auto store = open_store(files, keeping(2, false));
  store.protect(refused);
  auto within = small_image(3);  // the first save is of a step between the third epoch and the fourth
  within.info.step = 35;
  CHECK(store.publish(within, Rank::kOrdinary).bytes > 0);
  CHECK(epochs_in(store) == std::vector<std::uint32_t>{3, 3});
  files.put(state_of(4), fourth);
  files.put(state_of(5), fifth);
  CHECK(list_checkpoints(files, kFolder).size() == 4);
  CHECK(restored(files) == 5);
}

TEST_CASE("a checkpoint that cannot be read is not renamed, whatever error the system gives") {
  for (const int error_number : {EIO, EACCES, EPERM, ELOOP, EMFILE}) {
    for (int n = 1;; ++n) {
      INFO("errno " << error_number << ", call " << n);
      FaultyFileSystem files;
      {
        auto store = open_store(files, keeping(9, false));
        for (std::uint32_t epoch = 1; epoch <= 2; ++epoch) store.publish(small_image(epoch), Rank::kOrdinary);
      }
      std::vector<RefusedCheckpoint> refused;
      files.fail_call(n, error_number);
      try {
        restore_newest(files, kFolder, accept_any, refused);
      } catch (const base::IoError&) {
      }
      const bool happened = files.fault_happened();
      files.fail_call(0, 0);
      CHECK(epochs_in(open_store(files, keeping(9, false))) == std::vector<std::uint32_t>{1, 2});
      CHECK(restored(files) == 2);
      if (!happened) break;
    }
  }
}

TEST_CASE("checkpoints of a later format are not renamed, and an older one is taken") {
  FaultyFileSystem files;
  {
    auto store = open_store(files, keeping(9, false));
    for (std::uint32_t epoch = 1; epoch <= 2; ++epoch) store.publish(small_image(epoch), Rank::kOrdinary);
  }
  const std::string body = R"("fields":{},"files":[],"format":2})";
  const auto later = "{\"checksum\":\"" + storage::hex64(storage::hash64(storage::bytes_of(body))) + "\"," + body;
  files.put(path_of(2) + "/manifest.json", later);
  std::vector<RefusedCheckpoint> refused;
  CHECK(restore_newest(files, kFolder, accept_any, refused) == path_of(1));
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].path == path_of(2));
  CHECK(refused[0].reason.find("format 2") != std::string::npos);
  CHECK(files.contents(path_of(2) + "/manifest.json") == later);

  // The run comes to that place again: what lies there makes room, under a name that says it is not damaged.
  auto store = open_store(files, keeping(9, false));
  CHECK(store.publish(small_image(2), Rank::kOrdinary).bytes > 0);
  CHECK(files.contents(path_of(2) + ".unread/manifest.json") == later);
  CHECK(restored(files) == 2);
}

TEST_CASE("a linked checkpoint is passed over, neither counted nor deleted, and makes room for the run's own") {
  const esper::test::TemporaryFolder room;
  const std::string folder = room / "run/checkpoints", journal = room / "run/journal", elsewhere = room / "elsewhere";
  storage::ConfinedFileSystem files(room / "run", storage::Owner::kAnyone);
  storage::ensure_folder(files, folder);
  const auto open = [&](int keep) { return CheckpointStore(files, folder, journal, keeping(keep, false)); };
  std::vector<std::string> paths;
  for (std::uint32_t epoch = 1; epoch <= 3; ++epoch) {
    paths.push_back(open(9).publish(small_image(epoch), Rank::kOrdinary).entry.path);
  }
  for (const int i : {0, 2}) {
    std::filesystem::rename(paths[i], elsewhere + std::to_string(i));
    std::filesystem::create_directory_symlink(elsewhere + std::to_string(i), paths[i]);
  }
  std::vector<RefusedCheckpoint> refused;
  CHECK(restore_newest(files, folder, accept_any, refused) == paths[1]);
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].path == paths[2]);
  CHECK(refused[0].reason.find("symbolic link") != std::string::npos);

  auto store = open(2);
  CHECK(epochs_in(store) == std::vector<std::uint32_t>{2});
  CHECK(store.publish(small_image(3), Rank::kOrdinary).bytes > 0);
  CHECK(epochs_in(store) == std::vector<std::uint32_t>{2, 3});
  CHECK(read_checkpoint(files, paths[2]));
  CHECK(std::filesystem::is_symlink(paths[0]));
  CHECK(std::filesystem::is_symlink(paths[2] + ".unread"));
  CHECK(std::filesystem::exists(elsewhere + "2/manifest.json"));
}

TEST_CASE("a run that had checkpoints is known from its journal, and from those that were set aside") {
  FaultyFileSystem files;
  open_store(files, keeping(9, false)).record(R"({"what":"started","epoch":0,"step":0})");
  CHECK_FALSE(had_checkpoints(files, kFolder, kJournal));
  CHECK_FALSE(had_checkpoints(files, kFolder, "/run/no journal"));
  open_store(files, keeping(9, false)).publish(small_image(1), Rank::kOrdinary);
  storage::remove_all(files, path_of(1));
  CHECK(had_checkpoints(files, kFolder, kJournal));
  files.remove(kJournal);
  CHECK_FALSE(had_checkpoints(files, kFolder, kJournal));
  for (const auto* ending : {".bad", ".bad-2", ".unread"}) {
    files.make_folder(path_of(1) + ending);
    CHECK(had_checkpoints(files, kFolder, kJournal));
    files.remove(path_of(1) + ending);
  }
  files.make_folder(std::string(kFolder) + "/mine.bad");
  CHECK_FALSE(had_checkpoints(files, kFolder, kJournal));
}

TEST_CASE("a damaged checkpoint that cannot be renamed is skipped too") {
  int seen = 0;
  for (int n = 1; n < 60; ++n) {
    FaultyFileSystem files;
    {
      auto store = open_store(files, keeping(9, false));
      for (std::uint32_t epoch = 1; epoch <= 2; ++epoch) store.publish(small_image(epoch), Rank::kOrdinary);
    }
    files.put(path_of(2) + "/run.json", "");
    std::vector<RefusedCheckpoint> refused;
    files.fail_call(n, EROFS);
    try {
      const auto taken = restore_newest(files, kFolder, accept_any, refused);
      CHECK(taken == path_of(1));
    } catch (const base::IoError&) {
      continue;  // the fault hit something that is not the checkpoint's
    }
    REQUIRE(refused.size() == 1);
    if (refused[0].reason.find("could not be renamed") == std::string::npos) continue;
    CHECK(refused[0].path == path_of(2));
    ++seen;
  }
  CHECK(seen >= 2);
}

TEST_CASE("whatever fails while a checkpoint is published, the old one or the new one is there, whole") {
  const FaultScenario scenario = {
      [](FaultyFileSystem& files) {
        open_store(files, keeping(1, true)).publish(small_image(1), Rank::kBest);
        files.sync_folder("/");
      },
      [](FaultyFileSystem& files) {
        auto store = open_store(files, keeping(1, true));
        store.publish(small_image(2), Rank::kBest);
      },
      [](FaultyFileSystem& files, Outcome outcome) {
        const auto epoch = restored(files);
        CHECK((epoch == 1 || epoch == 2));
        if (outcome == Outcome::kDone) CHECK(epoch == 2);
        for (const auto& entry : list_checkpoints(files, kFolder)) CHECK(read_checkpoint(files, entry.path));

        // A new process goes on: leftovers are gone, the next save works, and one is kept.
        storage::remove_leftovers(files, kFolder);
        auto store = open_store(files, keeping(1, true));
        store.publish(small_image(3), Rank::kBest);
        CHECK(files.names_in(kFolder) == std::vector<std::string>{"epoch-0003-step-000000030"});
        CHECK(best_checkpoint(files, kFolder, kJournal) == "epoch-0003-step-000000030");
      }};
  fail_every_call(scenario);
  kill_at_every_call(scenario);
  lose_power_at_every_call(scenario);
}

TEST_CASE("a process that goes on after a failed save saves the next state, and the last good one stayed") {
  for (const int error_number : {EIO, ENOSPC}) {
    for (int n = 1;; ++n) {
      INFO("errno " << error_number << ", call " << n);
      FaultyFileSystem files;
      auto store = open_store(files, keeping(1, false));
      store.publish(small_image(1), Rank::kOrdinary);
      files.fail_call(n, error_number);
      CheckpointStore::Published first{};
      bool saved = true;
      try {
        first = store.publish(small_image(2), Rank::kOrdinary);
      } catch (const base::IoError&) {
        saved = false;
      }
      const bool happened = files.fault_happened();
      files.fail_call(0, 0);  // none any more
      const auto epoch = restored(files);
      CHECK((epoch == 2 || (!saved && epoch == 1)));
      CHECK((!first.not_deleted || happened));
      // The same state again, as a run does at its end: it is saved, recorded and reported exactly once.
      const auto second = store.publish(small_image(2), Rank::kOrdinary);
      CHECK((second.bytes > 0) == !saved);
      int records = 0;
      storage::scan_journal(files, kJournal, [&](std::string_view text) {
        records += text.find("epoch-0002-step-000000020") != std::string_view::npos ? 1 : 0;
      });
      CHECK(records == 1);
      CHECK(restored(files) == 2);
      store.publish(small_image(3), Rank::kOrdinary);
      CHECK(epochs_in(store) == std::vector<std::uint32_t>{3});
      CHECK(list_checkpoints(files, kFolder).size() == 1);
      if (!happened) break;
    }
  }
}

TEST_CASE("what a full disk cannot take leaves nothing half written") {
  for (std::uint64_t room = 0; room < 3000; room += 40) {
    INFO(room << " bytes left");
    FaultyFileSystem files;
    auto store = open_store(files, keeping(2, false));
    store.publish(small_image(1), Rank::kOrdinary);
    files.limit_bytes(files.used_bytes() + room);
    try {
      store.publish(small_image(2), Rank::kOrdinary);
      CHECK(restored(files) == 2);
    } catch (const base::IoError& error) {
      CHECK(error.out_of_space());
      for (const auto& entry : list_checkpoints(files, kFolder)) CHECK(read_checkpoint(files, entry.path));
    }
    CHECK(restored(files) >= 1);
  }
}

}  // namespace esper::test::checkpoint_store_test
