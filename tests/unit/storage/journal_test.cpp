#include "storage/journal/journal.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <random>
#include <utility>

#include "base/error.h"
#include "storage/real_file_system.h"
#include "support/file_reads.h"
#include "support/temporary_folder.h"
#include "unit/storage/fault_loop.h"

namespace esper::test::journal_test {

using namespace esper::storage;
using namespace esper::test;
using esper::base::IoError;

namespace {

using Records = std::vector<std::string>;

const std::string kPath = "journal";

Records read_all(esper::base::FileSystem& files, const std::string& path = kPath) {
  Records records;
  scan_journal(files, path, [&](std::string_view record) { records.emplace_back(record); });
  return records;
}

void append_all(esper::base::FileSystem& files, const Records& records) {
  JournalWriter writer(files, kPath);
  for (const auto& record : records) writer.append(record);
}

// Appends "one", "two", "three"; counts those that were promised.
struct CountedAppends {
  Records promised;

  FaultScenario scenario() {
    return {[this](FaultyFileSystem&) { promised.clear(); },
            [this](FaultyFileSystem& files) {
              JournalWriter writer(files, kPath);
              for (const std::string record : {"one", "two", "three"}) {
                writer.append(record);
                promised.push_back(record);
              }
            },
            [this](FaultyFileSystem& files, Outcome) { check(files); }};
  }

  void check(FaultyFileSystem& files) {
    Records possible = promised;
    if (promised.size() < 3) possible.push_back(Records{"one", "two", "three"}[promised.size()]);
    const Records found = read_all(files);
    CHECK((found == promised || found == possible));
    append_all(files, {"after"});
    Records expected = found;
    expected.push_back("after");
    CHECK(read_all(files) == expected);
    CHECK(scan_journal(files, kPath, [](std::string_view) {}).tail == JournalTail::kClean);
  }
};

}  // namespace

TEST_CASE("the first record is read alone") {
  FaultyFileSystem files;
  CHECK_FALSE(first_journal_record(files, kPath));
  append_all(files, {"one", "two"});
  CHECK(first_journal_record(files, kPath) == "one");
  const std::string whole = *files.contents(kPath);
  constexpr std::size_t kFirst = 16, kBehind = kFirst + 3;  // the magic and the record's header come before it
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    files.put(kPath, whole.substr(0, bytes));
    CHECK(first_journal_record(files, kPath).has_value() == (bytes >= kBehind));
  }
  std::string damaged = whole;
  damaged[kFirst] = 'O';
  files.put(kPath, damaged);
  CHECK_FALSE(first_journal_record(files, kPath));
}

TEST_CASE("for the first record of a long journal the others are not read") {
  TemporaryFolder folder;
  const std::string path = folder / "journal";
  JournalWriter writer(real_file_system(), path);
  writer.append("one");
  writer.append(std::string(1 << 20, 'x'));
  const std::uint64_t before = file_reads().bytes;
  CHECK(first_journal_record(real_file_system(), path) == "one");
  CHECK(file_reads().bytes - before < 64u << 10);
}

TEST_CASE("records come back in order, any bytes, in a new process too") {
  FaultyFileSystem files;
  const Records records = {"one", std::string("\0\xff zero", 7), std::string(100'000, 'x')};
  append_all(files, records);
  append_all(files, {"four"});
  files.lose_power(PowerLoss::kDropAll);
  CHECK(read_all(files) == Records{records[0], records[1], records[2], "four"});
  CHECK(read_all(files, "none").empty());
}

TEST_CASE("what an append promised survives when any call fails") { fail_every_call(CountedAppends().scenario()); }
TEST_CASE("what an append promised survives a kill anywhere") { kill_at_every_call(CountedAppends().scenario()); }
TEST_CASE("what an append promised survives a power loss anywhere") {
  lose_power_at_every_call(CountedAppends().scenario());
}

TEST_CASE("a writer goes on after a failed append, and leaves no trace of it") {
  for (int n = 1;; ++n) {
    FaultyFileSystem files;
    JournalWriter writer(files, kPath);
    writer.append("one");
    files.fail_call(n, EIO);
    Records expected = {"one"};
    for (const std::string record : {"two", "three", "four"}) {
      try {
        writer.append(record);
        expected.push_back(record);
      } catch (const IoError&) {
      }
    }
    const bool happened = files.fault_happened();
    CHECK(expected.size() == (happened ? 3 : 4));
    files.fail_call(0, 0);
    writer.append("five");
    expected.push_back("five");
    INFO("call " << n);
    CHECK(read_all(files) == expected);
    files.lose_power(PowerLoss::kDropAll);
    CHECK(read_all(files) == expected);
    if (!happened) break;
  }
}

TEST_CASE("a full disk refuses records and takes them again with room") {
  FaultyFileSystem files;
  JournalWriter writer(files, kPath);
  writer.append("one");
  files.limit_bytes(25);
  for (int i = 0; i < 3; ++i) {
    try {
      writer.append("two");
      FAIL("appended");
    } catch (const IoError& error) {
      CHECK(error.out_of_space());
    }
  }
  CHECK(read_all(files) == Records{"one"});
  files.limit_bytes(UINT64_MAX);
  writer.append("two");
  CHECK(read_all(files) == Records{"one", "two"});
}

TEST_CASE("a journal cut at any byte gives the whole records before, and the dropped bytes are counted") {
  FaultyFileSystem files;
  append_all(files, {"one", "record two", "three"});
  const std::string whole = *files.contents(kPath);
  const std::vector<std::size_t> ends = {8, 19, 37, 50};
  REQUIRE(whole.size() == ends.back());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    INFO("cut to " << length);
    files.put(kPath, whole.substr(0, length));
    std::size_t good = 0;
    std::uint64_t records = 0;
    for (const auto end : ends) good = end <= length ? end : good;
    for (std::size_t i = 1; i < ends.size(); ++i) records += ends[i] <= length ? 1 : 0;
    const auto scan = scan_journal(files, kPath, [](std::string_view) {});
    CHECK(scan.records == records);
    CHECK(scan.dropped_bytes == length - good);
    CHECK(scan.tail == (length == good ? JournalTail::kClean : JournalTail::kTorn));
    JournalWriter writer(files, kPath);
    writer.append("after");
    const auto again = read_all(files);
    CHECK(again.size() == records + 1);
    CHECK(again.back() == "after");
    CHECK(files.names_in(".") == Records{kPath});
  }
}

TEST_CASE("no flipped bit changes a record unseen") {
  FaultyFileSystem files;
  const Records records = {"one", "record two", "three"};
  append_all(files, records);
  const std::string whole = *files.contents(kPath);
  for (std::size_t bit = 64; bit < whole.size() * 8; ++bit) {
    std::string bad = whole;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    files.put(kPath, bad);
    Records found = read_all(files);
    INFO("bit " << bit);
    CHECK(found.size() < records.size());
    CHECK(std::equal(found.begin(), found.end(), records.begin()));
  }
}

TEST_CASE("records behind a corrupt one, or one whose length is damaged, are kept aside before the journal goes on") {
  static constexpr std::size_t kSecond = 8 + 11, kLength = kSecond + 1, kPayload = kSecond + 8;
  const auto [place, damage] = GENERATE(std::pair{kPayload, 'X'}, std::pair{kLength, '\x7f'});  // longer than the file
  FaultyFileSystem files;
  append_all(files, {"one", "two", "three"});
  std::string bad = *files.contents(kPath);
  bad[place] = damage;
  files.put(kPath, bad);
  CHECK(scan_journal(files, kPath, [](std::string_view) {}).tail == JournalTail::kCorrupt);
  JournalWriter writer(files, kPath);
  writer.append("after");
  CHECK(read_all(files) == Records{"one", "after"});
  CHECK(files.contents("journal.bad") == bad.substr(19));
}

TEST_CASE("another file is refused and not touched") {
  FaultyFileSystem files;
  for (const std::string other : {"notes", "{\"a\": 1}\n", "ESPERJ2\n", "something much longer than eight bytes"}) {
    files.put(kPath, other);
    CHECK_THROWS_AS(JournalWriter(files, kPath), esper::base::Error);
    CHECK(files.contents(kPath) == other);
  }
}

TEST_CASE("empty and oversized records are bugs of the caller") {
  FaultyFileSystem files;
  JournalWriter writer(files, kPath);
  CHECK_THROWS_AS(writer.append(""), esper::base::Error);
  CHECK_THROWS_AS(writer.append(std::string(kMaxJournalRecordBytes + 1, 'x')), esper::base::Error);
  writer.append("fine");
  CHECK(read_all(files) == Records{"fine"});
}

TEST_CASE("mutated journals give a prefix of the records or are refused") {
  FaultyFileSystem files;
  const Records records = {"one", "record two", "three", "and a fourth record"};
  append_all(files, records);
  const std::string whole = *files.contents(kPath);
  std::mt19937_64 random(1);
  for (int i = 0; i < 5'000; ++i) {
    std::string bad = whole;
    const std::size_t at = random() % bad.size();
    switch (random() % 3) {
      case 0:
        bad[at] = static_cast<char>(random());
        break;
      case 1:
        bad.erase(at, 1 + random() % 9);
        break;
      default:
        bad.insert(at, 1 + random() % 9, static_cast<char>(random()));
    }
    files.put(kPath, bad);
    try {
      const Records found = read_all(files);
      REQUIRE(found.size() <= records.size());
      REQUIRE(std::equal(found.begin(), found.end(), records.begin()));
    } catch (const esper::base::Error&) {
    }
  }
}

TEST_CASE("a journal works on a real disk") {
  TemporaryFolder folder;
  const std::string path = folder / "journal";
  {
    JournalWriter writer(real_file_system(), path);
    writer.append("one");
  }
  JournalWriter writer(real_file_system(), path);
  writer.append("two");
  CHECK(read_all(real_file_system(), path) == Records{"one", "two"});
}

}  // namespace esper::test::journal_test
