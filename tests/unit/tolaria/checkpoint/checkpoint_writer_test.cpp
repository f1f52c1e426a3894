#include "tolaria/checkpoint/checkpoint_writer.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <limits>
#include <thread>

#include "base/interrupt.h"
#include "storage/file_tools.h"
#include "support/checkpoint_fixture.h"
#include "support/comes_true.h"
#include "support/faults/faulty_file_system.h"

namespace esper::test::checkpoint_writer_test {

using tolaria::CheckpointImage;
using tolaria::CheckpointStore;
using tolaria::CheckpointWriter;
using tolaria::read_checkpoint;
using tolaria::SaveResult;

namespace {

using esper::test::FaultyFileSystem;
using std::chrono::milliseconds;
using Rank = CheckpointStore::Rank;
using Handover = CheckpointWriter::Handover;

constexpr char kFolder[] = "/run/checkpoints";
constexpr char kJournal[] = "/run/journal";

CheckpointStore open_store(FaultyFileSystem& files) {
  storage::ensure_folder(files, kFolder);
  return {files, kFolder, kJournal, keeping(5, true)};
}

struct Writing {
  FaultyFileSystem files;
  CheckpointWriter writer;

  explicit Writing(base::Duration deadline = std::chrono::seconds(80))
      : writer(open_store(files), base::Clock(), deadline) {}
  // Submits and waits for the one result.
  SaveResult save(CheckpointImage image) {
    REQUIRE(writer.submit(std::move(image), Rank::kOrdinary) == Handover::kTaken);
    REQUIRE(writer.flush());
    const auto results = writer.take_results();
    REQUIRE(results.size() == 1);
    return results.front();
  }
};

std::vector<std::string> journal_of(FaultyFileSystem& files) {
  std::vector<std::string> records;
  storage::scan_journal(files, kJournal, [&](std::string_view record) { records.emplace_back(record); });
  return records;
}

base::Duration elapsed(std::chrono::steady_clock::time_point since) { return std::chrono::steady_clock::now() - since; }

}  // namespace

TEST_CASE("a save reports its path, size and duration") {
  Writing it;
  const auto result = it.save(small_image(1));
  CHECK(result.kind == SaveResult::Kind::kCheckpoint);
  CHECK(result.info == small_image(1).info);
  CHECK(result.path == "/run/checkpoints/epoch-0001-step-000000010");
  CHECK(result.bytes > 256);
  CHECK(result.save_ms > 0);
  CHECK(result.problem.empty());
  CHECK(it.writer.checkpoints().size() == 1);
  CHECK(it.writer.take_results().empty());
}

TEST_CASE("a full disk is a result, and when there is space again the next save works") {
  Writing it;
  REQUIRE(it.save(small_image(1)).out_of_space == false);
  it.files.limit_bytes(it.files.used_bytes() + 100);
  for (std::uint32_t epoch = 2; epoch <= 3; ++epoch) {
    const auto full = it.save(small_image(epoch));
    CHECK(full.out_of_space);
    CHECK(full.path.empty());
    const auto number = std::to_string(epoch);
    CHECK(full.destination == kFolder + ("/epoch-000" + number + "-step-0000000" + number + "0"));
    REQUIRE(full.free_bytes);
    CHECK(*full.free_bytes <= 100);
    CHECK(full.info.epoch == epoch);
    CHECK(full.problem.find("No space left") != std::string::npos);
  }
  CHECK(it.writer.checkpoints().size() == 1);
  CHECK(it.files.names_in(kFolder).size() == 1);
  it.files.limit_bytes(UINT64_MAX);
  CHECK(it.save(small_image(3)).path.ends_with("epoch-0003-step-000000030"));
  CHECK(it.writer.checkpoints().size() == 2);
}

TEST_CASE("a disk that hangs makes the next save wait its deadline, and no longer") {
  Writing it(milliseconds(40));
  it.files.hold_calls();
  REQUIRE(it.writer.submit(small_image(1), Rank::kOrdinary) == Handover::kTaken);
  const auto begin = std::chrono::steady_clock::now();
  CHECK(it.writer.submit(small_image(2), Rank::kOrdinary) == Handover::kBusy);
  CHECK(elapsed(begin) >= milliseconds(40));
  CHECK_FALSE(it.writer.flush());          // the disk still hangs
  CHECK(it.writer.checkpoints().empty());  // and does not touch what the thread works on
  it.files.release_calls();
  REQUIRE(comes_true([&] { return it.writer.flush(); }));
  CHECK(it.writer.take_results().size() == 1);
  CHECK(it.save(small_image(2)).path != "");
}

TEST_CASE("a save that waits for the one before gives up at a signal, which ends the run") {
  Writing it;  // its deadline is beyond that of the test
  base::Interrupt interrupt;
  interrupt.begin_saving();
  it.files.hold_calls();
  REQUIRE(it.writer.submit(small_image(1), Rank::kOrdinary) == Handover::kTaken);
  const auto begin = std::chrono::steady_clock::now();
  const std::jthread user([] {
    std::this_thread::sleep_for(milliseconds(30));
    kill(getpid(), SIGTERM);
  });
  CHECK(it.writer.submit(small_image(2), Rank::kOrdinary) == Handover::kBusy);
  CHECK(elapsed(begin) >= milliseconds(30));
  CHECK(elapsed(begin) < std::chrono::seconds(20));
  it.files.release_calls();
  CHECK(it.writer.submit(small_image(2), Rank::kOrdinary, CheckpointWriter::Urgency::kLast) == Handover::kTaken);
  CHECK(it.writer.flush());
  CHECK(it.writer.checkpoints().size() == 2);
}

TEST_CASE("records and saves are written to the journal in the order given") {
  Writing it;
  it.writer.record(R"({"n":1})");
  it.writer.submit(small_image(1), Rank::kOrdinary);
  it.writer.record(R"({"n":2})");
  it.writer.submit(small_image(2), Rank::kBest);
  it.writer.record(R"({"n":3})");
  REQUIRE(it.writer.flush());
  const auto records = journal_of(it.files);
  REQUIRE(records.size() == 5);
  CHECK(records[0] == R"({"n":1})");
  CHECK(records[1].find("epoch-0001") != std::string::npos);
  CHECK(records[2] == R"({"n":2})");
  CHECK(records[3].find("epoch-0002") != std::string::npos);
  CHECK(records[4] == R"({"n":3})");
  CHECK(it.writer.take_results().size() == 2);
}

TEST_CASE("a record that cannot be written has its own result and stops nothing") {
  Writing it;
  it.files.limit_bytes(it.files.used_bytes());
  it.writer.record(R"({"n":1})");
  REQUIRE(it.writer.flush());
  const auto results = it.writer.take_results();
  REQUIRE(results.size() == 1);
  CHECK(results[0].kind == SaveResult::Kind::kRecords);
  CHECK(results[0].lost_records == 1);
  CHECK(results[0].out_of_space);
  it.files.limit_bytes(UINT64_MAX);
  it.writer.record(R"({"n":2})");
  REQUIRE(it.writer.flush());
  CHECK(journal_of(it.files) == std::vector<std::string>{R"({"n":2})"});
}

TEST_CASE("a state that is not finite, or cannot be written at all, is refused and named") {
  Writing it;
  auto nan = small_image(1);
  nan.tensors.push_back({"host.bias", at::full({2}, std::numeric_limits<double>::quiet_NaN())});
  CHECK(it.save(nan).problem == "tensor host.bias is not finite; such a state is not saved");
  auto in_json = small_image(1);
  in_json.run["loss"] = std::numeric_limits<double>::infinity();
  CHECK(it.save(in_json).problem.starts_with("run.json: /loss is not finite"));
  auto unknown = small_image(1);
  unknown.tensors.push_back({"complex", at::zeros({2}, torch::kComplexFloat)});
  CHECK(it.save(unknown).problem.find("complex") != std::string::npos);
  auto not_text = small_image(1);
  not_text.run["controller"] = "\xff\xfe";
  CHECK(it.save(not_text).problem != "");
  CHECK(it.files.names_in(kFolder).empty());
  CHECK(it.save(small_image(1)).path != "");
}

TEST_CASE("what waits when the writer goes is written") {
  FaultyFileSystem files;
  {
    CheckpointWriter writer(open_store(files), base::Clock(), std::chrono::seconds(80));
    files.hold_calls();
    writer.submit(small_image(1), Rank::kOrdinary);
    writer.record(R"({"n":1})");
    files.release_calls();
  }
  CHECK(read_checkpoint(files, "/run/checkpoints/epoch-0001-step-000000010"));
  CHECK(journal_of(files).size() == 2);
}

TEST_CASE("a disk that hangs does not keep the process from ending") {
  // Never destroyed: the thread that is left to itself may use it to the end.
  static auto& systems = *new std::array<FaultyFileSystem, 2>;
  for (const bool after_flush : {false, true}) {
    auto& files = systems[after_flush];
    const auto begin = std::chrono::steady_clock::now();
    {
      CheckpointWriter writer(open_store(files), base::Clock(), milliseconds(30));
      files.hold_calls();
      writer.submit(small_image(1), Rank::kOrdinary);
      if (after_flush) CHECK_FALSE(writer.flush());
    }
    CHECK(elapsed(begin) >= milliseconds(30));
    CHECK(elapsed(begin) < FaultyFileSystem::kLongestHold);  // before the disk would have gone on by itself
    files.release_calls();
  }
}

TEST_CASE("records that wait for a disk that hangs are bounded, and those beyond are counted as lost") {
  Writing it;
  it.files.hold_calls();
  constexpr std::size_t kMost = CheckpointWriter::kMostRecords, kFurther = 10;
  // The thread takes one, which hangs.
  for (std::size_t n = 0; n < kMost + kFurther + 1; ++n) it.writer.record(R"({"n":1})");
  const auto lost = it.writer.take_results();
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].kind == SaveResult::Kind::kRecords);
  CHECK(lost[0].lost_records >= static_cast<std::int64_t>(kFurther));
  CHECK(lost[0].problem.find("does not answer") != std::string::npos);
  it.files.release_calls();
  REQUIRE(it.writer.flush());
  CHECK(journal_of(it.files).size() == kMost + kFurther + 1 - static_cast<std::size_t>(lost[0].lost_records));
}

TEST_CASE("space is kept before there is a checkpoint, and the first one may take it") {
  Writing it;
  CHECK_FALSE(it.writer.disk_room());
  it.files.limit_bytes(400'000);
  it.writer.keep_space(150'000);
  REQUIRE(it.writer.flush());
  const auto reserve = it.files.contents("/run/reserve").value_or("").size();
  CHECK(reserve > 150'000);
  REQUIRE(it.writer.disk_room());
  CHECK(*it.writer.disk_room() == 400'000 - it.files.used_bytes() + reserve);

  it.files.limit_bytes(it.files.used_bytes() + 100);
  const auto first = it.save(small_image(1));
  CHECK(first.path != "");
  CHECK(first.released == reserve);
  it.files.limit_bytes(it.files.used_bytes() + 100);
  CHECK(it.save(small_image(2)).out_of_space);  // an ordinary one takes nothing
}

TEST_CASE("space that cannot be kept is a result") {
  Writing it;
  it.files.limit_bytes(it.files.used_bytes() + 1000);
  it.writer.keep_space(150'000);
  REQUIRE(it.writer.flush());
  const auto results = it.writer.take_results();
  REQUIRE(results.size() == 1);
  CHECK(results[0].kind == SaveResult::Kind::kSpace);
  CHECK(results[0].not_reserved.find("No space left") != std::string::npos);
}

TEST_CASE("what did not fit on a full disk is written once there is space, though nothing else comes") {
  Writing it;
  it.files.limit_bytes(it.files.used_bytes() + 100);
  REQUIRE(it.save(small_image(1)).out_of_space);
  it.files.limit_bytes(UINT64_MAX);
  std::vector<SaveResult> results;
  REQUIRE(comes_true([&] { return !(results = it.writer.take_results()).empty(); }));
  REQUIRE(results.size() == 1);
  CHECK(results[0].path.ends_with("epoch-0001-step-000000010"));
  CHECK(results[0].info == small_image(1).info);
  CHECK(it.writer.checkpoints().size() == 1);
}

TEST_CASE("a disk that is nearly full, but for the space that is kept, is not filled with attempts") {
  Writing it;
  const auto image_bytes = it.save(small_image(1)).bytes;
  REQUIRE(it.files.contents("/run/reserve").value_or("").size() > image_bytes);  // would do for another image
  it.files.limit_bytes(it.files.used_bytes() + 100);
  REQUIRE(it.save(small_image(2)).out_of_space);
  constexpr auto kWait = milliseconds(2500);
  const int calls = it.files.calls();
  std::this_thread::sleep_for(kWait);
  CHECK(it.files.calls() - calls >= 1);  // it asks for the free space
  CHECK(it.files.calls() - calls <= 3);  // each second, and no more than that
  CHECK(it.files.contents("/run/reserve"));
}

TEST_CASE("what did not fit on a full disk is not written after what followed it") {
  Writing it;
  it.files.limit_bytes(it.files.used_bytes() + 100);
  REQUIRE(it.save(small_image(1)).out_of_space);
  it.writer.record(R"({"n":1})");
  REQUIRE(it.writer.flush());
  it.files.limit_bytes(UINT64_MAX);
  it.writer.take_results();
  std::this_thread::sleep_for(milliseconds(1500));
  CHECK(it.writer.take_results().empty());
  CHECK(it.writer.checkpoints().empty());
}

}  // namespace esper::test::checkpoint_writer_test
