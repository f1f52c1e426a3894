// Journals, the newest file and one before it: all good records are read, by each way to read, and a writer that takes
// the damaged journal over keeps them and adds its own.

#include "base/error.h"
#include "fuzz/fuzzing.h"
#include "storage/journal/journal.h"
#include "support/faults/faulty_file_system.h"

namespace esper::fuzz {

constexpr const char *kPath = "journal", *kEarlier = "journal-000001";
using Records = std::vector<std::string>;

std::vector<std::string> seeds() {
  test::FaultyFileSystem files;
  storage::JournalWriter writer(files, kPath);
  const std::string empty = *files.contents(kPath);
  for (const std::string record : {"one", "two", R"({"kind": "three", "lane": "replay"})"}) writer.append(record);
  const std::string three = *files.contents(kPath);
  return {empty, std::string(1, '\0') + part("") + empty, std::string(1, '\1') + part(three) + three,
          std::string(1, '\0') + part("") + three,
          std::string(1, '\0') + part(empty) + three.substr(0, three.size() - 3)};
}

namespace {

Records read_all(test::FaultyFileSystem& files, storage::JournalTail* tail = nullptr) {
  Records records;
  const auto scan = storage::scan_journal(files, kPath, [&](std::string_view record) { records.emplace_back(record); });
  expect(scan.records == records.size(), "each record is visited");
  expect(scan.good_bytes + scan.dropped_bytes == files.contents(kPath).value_or("").size(), "each byte is counted");
  expect((scan.tail == storage::JournalTail::kClean) == (scan.dropped_bytes == 0), "what is dropped is reported");
  if (tail != nullptr) *tail = scan.tail;
  return records;
}

void check(Input input) {
  const bool rotates = input.byte() % 2 == 1;
  const std::string earlier(input.part()), newest(input.rest());
  test::FaultyFileSystem files;
  if (!earlier.empty()) files.put(kEarlier, earlier);
  files.put(kPath, newest);

  Records expected = read_all(files);
  Records from;
  storage::scan_journal_from(
      files, kPath, [](std::string_view) { return true; }, [&](std::string_view record) { from.emplace_back(record); });
  expect(from.size() <= expected.size() && std::equal(from.rbegin(), from.rend(), expected.rbegin()),
         "from a start on there are the same records");

  storage::JournalWriter writer(files, kPath);
  if (rotates) writer.rotate("first");
  writer.append("after");
  if (rotates) expected.push_back("first");
  expected.push_back("after");
  storage::JournalTail tail{};
  expect(read_all(files, &tail) == expected, "the writer keeps what could be read and adds its own");
  expect(tail == storage::JournalTail::kClean, "the writer leaves no torn tail");
}

}  // namespace
}  // namespace esper::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    esper::fuzz::check({data, size});
  } catch (const esper::base::Error& error) {
    esper::fuzz::expect(error.code() == esper::base::ExitCode::kCheckpoint, "what is no journal is named so");
  }
  return 0;
}
