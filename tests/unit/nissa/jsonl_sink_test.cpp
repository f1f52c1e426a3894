#include "nissa/jsonl_sink.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "leyline/telemetry/telemetry.h"
#include "nissa/hub.h"
#include "support/patience.h"
#include "support/telemetry_file.h"
#include "support/temporary_folder.h"

namespace esper::test::jsonl_sink_test {

using namespace std::chrono_literals;
using namespace esper;
using esper::base::Descriptor;
using esper::nissa::Delivery;
using esper::nissa::Hub;
using esper::nissa::JsonlSink;
using esper::test::packet_named;
using esper::test::read_telemetry;
using esper::test::TemporaryFolder;
using Ids = esper::test::PacketIds;
namespace fs = std::filesystem;

namespace {

using esper::test::kPatience;

std::vector<nissa::NamedSink> only(std::unique_ptr<leyline::TelemetrySink> sink) {
  std::vector<nissa::NamedSink> out;
  out.push_back({"jsonl", std::move(sink)});
  return out;
}

}  // namespace

TEST_CASE("packets come back from the file in order") {
  const TemporaryFolder folder;
  const fs::path path = folder / "run/telemetry.jsonl";  // the sink makes the folder
  {
    JsonlSink sink(path);
    sink.emit(packet_named("a"));
    sink.emit(packet_named("b"));
  }
  JsonlSink(path).emit(packet_named("c"));  // a resumed run appends
  const auto contents = read_telemetry(path);
  CHECK(contents.ids == Ids{"a", "b", "c"});
  CHECK(contents.report.packets == 3);
  CHECK(contents.report.damaged.empty());
}

TEST_CASE("a line torn by a kill costs that line only") {
  const TemporaryFolder folder;
  const fs::path path = folder / "telemetry.jsonl";
  JsonlSink(path).emit(packet_named("a"));
  std::ofstream(path, std::ios::app) << R"({"packet_id":"torn","met)";

  const auto torn = read_telemetry(path);
  CHECK(torn.ids == Ids{"a"});
  REQUIRE(torn.report.damaged.size() == 1);
  CHECK(torn.report.damaged[0].line == 2);
  CHECK(torn.report.damaged[0].reason == "the file ends within this line");

  JsonlSink resumed(path);
  resumed.emit(packet_named("b"));
  resumed.emit(packet_named("c"));
  const auto whole = read_telemetry(path);
  CHECK(whole.ids == Ids{"a", "b", "c"});
  REQUIRE(whole.report.damaged.size() == 1);
  CHECK(whole.report.damaged[0].line == 2);
}

TEST_CASE("a file cut at any byte loses at most one packet, and gains later ones") {
  const TemporaryFolder folder;
  const fs::path path = folder / "telemetry.jsonl";
  {
    JsonlSink sink(path);
    sink.emit(packet_named("a"));
    sink.emit(packet_named("b"));
  }
  const auto size = fs::file_size(path);
  for (std::uintmax_t cut = size / 2; cut <= size; ++cut) {
    const fs::path copy = folder / "copy.jsonl";
    fs::copy_file(path, copy, fs::copy_options::overwrite_existing);
    fs::resize_file(copy, cut);
    JsonlSink(copy).emit(packet_named("c"));
    const bool second_is_whole = cut >= size - 1;  // the newline alone may be missing
    CHECK(read_telemetry(copy).ids == (second_is_whole ? Ids{"a", "b", "c"} : Ids{"a", "c"}));
  }
}

TEST_CASE("the reader skips and reports what is no packet") {
  const TemporaryFolder folder;
  const fs::path path = folder / "telemetry.jsonl";
  {
    std::ofstream file(path);
    file << "not json\n\n[1,2]\n{\"packet_id\":\"x\"}\n" << std::string(5000, '[') << "\n";
    file << std::string((16 << 20) + 1, 'x') << "\n";
  }
  JsonlSink(path).emit(packet_named("a"));
  const auto contents = read_telemetry(path);
  CHECK(contents.ids == Ids{"a"});
  std::vector<std::size_t> lines;
  for (const auto& damaged : contents.report.damaged) lines.push_back(damaged.line);
  CHECK(lines == std::vector<std::size_t>{1, 3, 4, 5, 6});
}

TEST_CASE("a file that cannot be read is the user's error") {
  try {
    read_telemetry("/nowhere/telemetry.jsonl");
    FAIL("read a file that is not there");
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ExitCode::kData);
    CHECK(std::string(error.what()).find("/nowhere/telemetry.jsonl") != std::string::npos);
  }
}

TEST_CASE("a file that cannot be made is refused at once") {
  CHECK_THROWS_AS(JsonlSink("/proc/nowhere/telemetry.jsonl"), base::Error);
}

TEST_CASE("on a full disk every packet is counted and the hub goes on") {
  Hub hub(100, only(std::make_unique<JsonlSink>("/dev/full", JsonlSink::Target::kAnyFile)));
  for (int n = 0; n < 5; ++n) hub.emit(packet_named("p"));
  CHECK(hub.flush(kPatience) == Delivery::kComplete);
  CHECK(hub.counts().at(0).errors == 5);
  CHECK(hub.counts().at(0).delivered == 5);
}

TEST_CASE("a pipe without reader costs packets, not time") {
  const TemporaryFolder folder;
  const fs::path path = folder / "pipe";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  Hub hub(100, only(std::make_unique<JsonlSink>(path, JsonlSink::Target::kAnyFile, kPatience)));
  for (int n = 0; n < 10; ++n) hub.emit(packet_named("p"));
  CHECK(hub.flush(kPatience) == Delivery::kComplete);
  CHECK(hub.counts().at(0).errors == 10);  // one packet that waited for a reader would have used up the flush
}

TEST_CASE("a pipe whose reader closes gives errors, not a signal") {
  const TemporaryFolder folder;
  const fs::path path = folder / "pipe";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  auto reader = std::make_unique<Descriptor>(open(path.c_str(), O_RDONLY | O_NONBLOCK));
  REQUIRE(reader->is_open());
  struct sigaction action{};
  sigaction(SIGPIPE, nullptr, &action);
  REQUIRE(action.sa_handler == SIG_DFL);  // an unblocked SIGPIPE would end this test program

  Hub hub(100, only(std::make_unique<JsonlSink>(path, JsonlSink::Target::kAnyFile)));
  hub.emit(packet_named("read"));
  REQUIRE(hub.flush(kPatience) == Delivery::kComplete);
  CHECK(hub.counts().at(0).errors == 0);
  reader.reset();
  hub.emit(packet_named("lost"));
  REQUIRE(hub.flush(kPatience) == Delivery::kComplete);
  CHECK(hub.counts().at(0).errors == 1);
}

TEST_CASE("a slow reader gets whole lines in order; what it cannot take in time is lost") {
  const TemporaryFolder folder;
  const fs::path path = folder / "pipe";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const Descriptor reader(open(path.c_str(), O_RDONLY | O_NONBLOCK));
  JsonlSink sink(path, JsonlSink::Target::kAnyFile, 20ms);
  int failures = 0;
  for (int n = 0; n < 4; ++n) {  // a pipe holds 64 KiB
    auto packet = packet_named(std::to_string(n));
    packet.system_health.summary.assign(30'000, 'x');
    try {
      sink.emit(packet);
    } catch (const std::system_error& error) {
      CHECK(error.code().value() == ETIMEDOUT);
      ++failures;
    }
  }
  CHECK(failures == 2);

  const fs::path drained = folder / "drained.jsonl";
  const auto drain = [&] {
    std::ofstream out(drained, std::ios::app);
    std::vector<char> block(1 << 16);
    for (;;) {
      const auto count = ::read(reader.number(), block.data(), block.size());
      if (count <= 0) return;
      out.write(block.data(), count);
    }
  };
  drain();
  sink.emit(packet_named("later"));
  drain();
  const auto contents = read_telemetry(drained);
  CHECK(contents.ids == Ids{"0", "1", "later"});
  CHECK(contents.report.damaged.size() == 1);  // the beginning of "2"
}

TEST_CASE("a file that was moved away or deleted is made again") {
  const TemporaryFolder folder;
  const fs::path path = folder / "run/telemetry.jsonl";
  JsonlSink sink(path);
  sink.emit(packet_named("a"));
  fs::rename(path, folder / "rotated.jsonl");
  sink.emit(packet_named("b"));
  CHECK(read_telemetry(folder / "rotated.jsonl").ids == Ids{"a"});
  CHECK(read_telemetry(path).ids == Ids{"b"});
  fs::remove_all(folder / "run");
  sink.emit(packet_named("c"));
  CHECK(read_telemetry(path).ids == Ids{"c"});
}

}  // namespace esper::test::jsonl_sink_test
