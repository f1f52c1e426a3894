// A journal in several files: what was promised is there once, whatever happens while a new file is begun.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "base/error.h"
#include "storage/journal/journal.h"
#include "unit/storage/fault_loop.h"

namespace esper::test::journal_rotation_test {

using namespace esper::storage;
using namespace esper::test;
using esper::base::IoError;

namespace {

using Records = std::vector<std::string>;

const std::string kPath = "run/journal";

Records read_all(FaultyFileSystem& files) {
  Records records;
  scan_journal(files, kPath, [&](std::string_view record) { records.emplace_back(record); });
  return records;
}

// Without those that begin a file: they may be missing.
Records appended(FaultyFileSystem& files) {
  Records records = read_all(files);
  std::erase_if(records, [](const std::string& record) { return record.starts_with("head"); });
  return records;
}

Records from(FaultyFileSystem& files, const std::string& head) {
  Records records;
  scan_journal_from(
      files, kPath, [&](std::string_view first) { return first == head; },
      [&](std::string_view record) { records.emplace_back(record); });
  return records;
}

void make_folder(FaultyFileSystem& files) {
  files.make_folder("run");
  files.sync_folder(".");
}

// Two rotations between appends; counts the records that were promised.
struct CountedRotations {
  static inline const Records kAll = {"one", "two", "three", "four"};
  Records promised;

  FaultScenario scenario() {
    return {[this](FaultyFileSystem& files) {
              promised.clear();
              make_folder(files);
            },
            [this](FaultyFileSystem& files) {
              JournalWriter writer(files, kPath);
              for (const auto& record : kAll) {
                writer.append(record);
                promised.push_back(record);
                if (promised.size() % 2 == 0) writer.rotate("head " + record);
              }
            },
            [this](FaultyFileSystem& files, Outcome) { check(files); }};
  }

  void check(FaultyFileSystem& files) {
    Records possible = promised;
    if (promised.size() < kAll.size()) possible.push_back(kAll[promised.size()]);
    const Records found = appended(files);
    CHECK((found == promised || found == possible));
    Records expected = found;
    {
      JournalWriter writer(files, kPath);
      writer.append("after");
      writer.rotate("head again");
      writer.append("last");
      expected.insert(expected.end(), {"after", "last"});
    }
    CHECK(appended(files) == expected);
    const auto scan = scan_journal(files, kPath, [](std::string_view) {});
    CHECK(scan.tail == JournalTail::kClean);
    CHECK(scan.losses.empty());
    CHECK(from(files, "head again") == Records{"head again", "last"});
  }
};

}  // namespace

TEST_CASE("records come back in order from all files of a journal, in a new process too") {
  FaultyFileSystem files;
  make_folder(files);
  {
    JournalWriter writer(files, kPath);
    writer.append("one");
    writer.rotate("head 1");
    CHECK(writer.bytes() < 40);
    writer.append("two");
  }
  JournalWriter writer(files, kPath);
  writer.rotate("head 2");
  writer.append("three");
  files.lose_power(PowerLoss::kDropAll);
  CHECK(read_all(files) == Records{"one", "head 1", "two", "head 2", "three"});
  CHECK(files.names_in("run") == Records{"journal", "journal-000001", "journal-000002"});
  CHECK(from(files, "head 2") == Records{"head 2", "three"});
  CHECK(from(files, "head 1") == Records{"head 1", "two", "head 2", "three"});
  CHECK(from(files, "no such").size() == 5);
}

TEST_CASE("the earlier files of a journal are found however its path is written") {
  for (const std::string path : {"run//journal", "./run/journal", "run/./journal", "/run///journal"}) {
    CAPTURE(path);
    FaultyFileSystem files;
    make_folder(files);
    JournalWriter writer(files, path);
    for (const std::string record : {"one", "two", "three"}) {
      writer.append(record);
      writer.rotate("head " + record);
    }
    CHECK(files.names_in("run") == Records{"journal", "journal-000001", "journal-000002", "journal-000003"});
    Records records;
    const auto scan = scan_journal(files, path, [&](std::string_view record) { records.emplace_back(record); });
    CHECK(records == Records{"one", "head one", "two", "head two", "three", "head three"});
    CHECK(scan.losses.empty());
  }
}

TEST_CASE("a rotation loses and doubles no record when any call fails") {
  fail_every_call(CountedRotations().scenario());
}
TEST_CASE("a rotation loses and doubles no record when the process is killed anywhere") {
  kill_at_every_call(CountedRotations().scenario());
}
TEST_CASE("a rotation loses and doubles no record after a power loss anywhere") {
  lose_power_at_every_call(CountedRotations().scenario());
}

TEST_CASE("a writer goes on after a rotation that failed, and a later one works") {
  for (int n = 1;; ++n) {
    INFO("call " << n);
    FaultyFileSystem files;
    make_folder(files);
    JournalWriter writer(files, kPath);
    writer.append("one");
    files.fail_call(n, EIO);
    try {
      writer.rotate("head 1");
    } catch (const IoError&) {
    }
    const bool happened = files.fault_happened();
    files.fail_call(0, 0);
    writer.append("two");
    CHECK(appended(files) == Records{"one", "two"});
    writer.rotate("head 2");
    writer.append("three");
    CHECK(appended(files) == Records{"one", "two", "three"});
    CHECK(from(files, "head 2") == Records{"head 2", "three"});
    files.lose_power(PowerLoss::kDropAll);
    CHECK(appended(files) == Records{"one", "two", "three"});
    if (!happened) break;
  }
}

TEST_CASE("earlier files that are damaged or gone are reported, and the others are read") {
  FaultyFileSystem files;
  make_folder(files);
  JournalWriter writer(files, kPath);
  for (const std::string record : {"one", "two", "three", "four"}) {
    writer.append(record);
    writer.rotate("head " + record);
  }
  files.remove("run/journal-000001");
  files.remove("run/journal-000002");
  std::string bad = *files.contents("run/journal-000003");
  bad.back() ^= 1;
  files.put("run/journal-000003", bad);
  Records records;
  const auto scan = scan_journal(files, kPath, [&](std::string_view record) { records.emplace_back(record); });
  CHECK(records == Records{"head two", "head three", "four", "head four"});
  CHECK(scan.tail == JournalTail::kClean);
  REQUIRE(scan.losses.size() == 3);
  CHECK((scan.losses[0].file == "run/journal-000001" && scan.losses[0].dropped_bytes == 0));
  CHECK((scan.losses[1].file == "run/journal-000002" && scan.losses[1].dropped_bytes == 0));
  CHECK((scan.losses[2].file == "run/journal-000003" && scan.losses[2].dropped_bytes == 13));
}

TEST_CASE("a rotation replaces no file that is there, not even where the numbers are used up") {
  FaultyFileSystem files;
  make_folder(files);
  files.put("run/journal-999999999", "the last number");
  files.put("run/journal-000000", "mine");
  files.put("run/journal-1000000000", "mine too");
  JournalWriter writer(files, kPath);
  writer.append("one");
  CHECK_THROWS_AS(writer.rotate("head"), IoError);
  CHECK(files.contents("run/journal-000000") == "mine");
  writer.append("two");
  CHECK(files.contents("run/journal-1000000000") == "mine too");
  files.remove("run/journal-999999999");
  CHECK(read_all(files) == Records{"one", "two"});
}

TEST_CASE("a file that claims that a million came before it is read, and they are one loss") {
  FaultyFileSystem files;
  make_folder(files);
  JournalWriter writer(files, kPath);
  writer.append("one");
  writer.rotate("head");
  files.rename("run/journal-000001", "run/journal-1000000");
  Records records;
  const auto scan = scan_journal(files, kPath, [&](std::string_view record) { records.emplace_back(record); });
  CHECK(records == Records{"one", "head"});
  REQUIRE(scan.losses.size() == 1);
  CHECK(scan.losses[0].file.ends_with("journal-000001 to -999999"));
}

TEST_CASE("other files of such names are left alone") {
  FaultyFileSystem files;
  make_folder(files);
  for (const auto* name : {"journal-1", "journal-000001x", "journal-notes", "journal.bad", "journal-0000001"}) {
    files.put("run/" + std::string(name), "mine");
  }
  JournalWriter writer(files, kPath);
  writer.append("one");
  writer.rotate("head");
  CHECK(read_all(files) == Records{"one", "head"});
  CHECK(files.contents("run/journal-1") == "mine");
}

TEST_CASE("a reader beside a writer that begins new files finds every record before the last it finds, once") {
  FaultyFileSystem files;
  make_folder(files);
  JournalWriter writer(files, kPath);
  std::atomic<bool> ended{false};
  std::string wrong;  // the reader's, until it ended
  std::thread reader([&] {
    while (!ended) {
      const Records found = appended(files);
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i] != std::to_string(i)) wrong = "record " + std::to_string(i) + " is " + found[i];
      }
    }
  });
  for (int i = 0; i < 400; ++i) {
    writer.append(std::to_string(i));
    if (i % 4 == 3) writer.rotate("head");
  }
  ended = true;
  reader.join();
  CHECK(wrong.empty());
  CHECK(appended(files).size() == 400);
}

}  // namespace esper::test::journal_rotation_test
