#include "history/telemetry/telemetry_names.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "leyline/telemetry/telemetry.h"
#include "nissa/json_line.h"

namespace esper::test::telemetry_names_test {

using namespace esper;
using namespace esper::history;
using namespace esper::nissa;
using namespace esper::leyline::literals;
using Catch::Matchers::ContainsSubstring;
using Kind = TelemetryName::Kind;
namespace fs = std::filesystem;

namespace {

const std::string kReference = ESPER_SOURCE_DIR "/baselines/telemetry/reference.json";
const std::string kCatalogue = ESPER_SOURCE_DIR "/baselines/telemetry/catalogue.json";

// A folder that goes away with the test.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "names-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name, std::ios::binary) << text;
    return (path / name).string();
  }
  fs::path path;
};

std::string packet_line() {
  leyline::TelemetryPacket packet;
  packet.packet_id = "run-epoch-1";
  packet.metrics.push_back(leyline::metric("tolaria.training.loss"_metric, 0.5));
  packet.metrics.push_back(leyline::metric("kasmina.seed.alpha"_metric, 0.5, {{"seed_id", "seed-0001"}}));
  packet.metrics.push_back(leyline::metric("kasmina.seed.alpha"_metric, 0.5, {{"slot", "r0c0"}}));
  packet.events.push_back(leyline::event("seed_stage"_event, leyline::Level::kInfo, {{"from", "DORMANT"}}));
  std::string line;
  append_json_line(packet, line);
  return line;
}

std::string problem_of(const std::string& source, base::ExitCode code = base::ExitCode::kData) {
  try {
    read_names(source);
  } catch (const base::Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  FAIL("accepted: " << source);
  return {};
}

std::string problem_of_list(const std::string& text) {
  const Folder folder;
  return problem_of(folder.write("list.json", text));
}

}  // namespace

TEST_CASE("what the reference's names are said to be in this build is so, with unit and labels") {
  const auto reference = read_names(kReference);
  const auto diff = diff_names(reference, names_of_table());
  for (const auto& name : diff.only_first) UNSCOPED_INFO("the table lacks " << name.name);
  for (const auto& difference : diff.different) {
    UNSCOPED_INFO(difference.name.name << ": unit " << difference.first_unit << " -> " << difference.second_unit
                                       << ", labels that the table lacks: " << difference.only_first.size());
  }
  CHECK(diff.second_has_all);
  CHECK(diff.only_first.empty());
  CHECK_FALSE(diff.only_second.empty());  // what is new is only ever added
  REQUIRE(diff.statuses);
  for (const auto& name : diff.statuses->without_status) UNSCOPED_INFO("no status: " << name.name);
  for (const auto& name : diff.statuses->contradicted) UNSCOPED_INFO("reported, but not said to be: " << name.name);
  CHECK(diff.statuses->without_status.empty());
  CHECK(diff.statuses->contradicted.empty());
  CHECK(diff.statuses->reported + diff.statuses->planned + diff.statuses->does_not_apply == reference.names.size());
}

TEST_CASE("the list of the reference is whole, sorted, one name a line, and says where it comes from") {
  std::ifstream file(kReference);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto document = nlohmann::ordered_json::parse(text);
  CHECK(document.at("source").get<std::string>().size() > 100);
  std::string expected = "{\n  \"source\": " + document.at("source").dump() + ",\n  \"names\": [\n";
  std::size_t metrics_of_an_epoch = 0, of_seeds = 0, of_policy = 0, events = 0;
  std::vector<std::pair<std::string, bool>> order;
  for (const auto& row : document.at("names")) {
    const auto name = row.at("name").get<std::string>();
    const bool event = row.at("kind") == "event";
    order.emplace_back(name, event);
    events += event ? 1 : 0;
    metrics_of_an_epoch +=
        !event && name.starts_with("tolaria.") && !name.starts_with("tolaria.grad_agg.seed.") ? 1 : 0;
    of_seeds += !event && name.starts_with("kasmina.") ? 1 : 0;
    of_policy += !event && name.starts_with("tamiyo.") ? 1 : 0;
  }
  CHECK(std::ranges::is_sorted(order));
  CHECK(std::ranges::adjacent_find(order) == order.end());
  // Counted in the tables that the list was copied from, not in the list.
  CHECK(metrics_of_an_epoch == 47 + 10);  // ten more are kept but never sent
  CHECK(of_seeds == 39);
  CHECK(of_policy == 52);
  CHECK(events == 33 + 42 + 40 - 4);  // four are both the seed manager's, or the trainer's, and the policy's
  CHECK(std::ranges::count(text, '\n') == static_cast<std::ptrdiff_t>(order.size()) + 5);
  CHECK(text.starts_with(expected));
}

TEST_CASE("the catalogue of this build says the same as the table") {
  const auto diff = diff_names(read_names(kCatalogue), names_of_table());
  CHECK(diff.only_first.empty());
  CHECK(diff.only_second.empty());
  CHECK(diff.different.empty());
  CHECK(read_names("table").names.size() == leyline::kTelemetryTable.size());
}

TEST_CASE("a run's names are those of its packets, with the labels of all of them") {
  const Folder folder;
  folder.write("telemetry.jsonl", packet_line() + packet_line());
  const auto read = read_names(folder.path.string());
  CHECK(read.gaps.empty());
  REQUIRE(read.names.size() == 3);
  CHECK(read.names.at({"tolaria.training.loss", Kind::kMetric}).unit == "loss");
  CHECK(read.names.at({"kasmina.seed.alpha", Kind::kMetric}).labels == std::set<std::string>{"seed_id", "slot"});
  CHECK(read.names.at({"seed_stage", Kind::kEvent}).labels == std::set<std::string>{"from"});
  CHECK(diff_names(read, names_of_table()).second_has_all);
  CHECK_FALSE(diff_names(names_of_table(), read).second_has_all);
}

TEST_CASE("what one side lacks is told: names, a unit, labels; what it has more does no harm") {
  const Folder folder;
  const auto list = [&](const char* name, const char* rows) { return read_names(folder.write(name, rows)); };
  const auto first = list("a.json", R"([
    {"name": "a", "kind": "gauge", "unit": "ms", "labels": ["x", "y"]},
    {"name": "b", "kind": "metric", "labels": []},
    {"name": "b", "kind": "event", "labels": []},
    {"name": "c", "kind": "metric", "unit": "ms"}])");
  const auto second = list("b.json", R"({"source": "s", "names": [
    {"name": "a", "kind": "metric", "unit": "ms", "labels": ["x", "z"]},
    {"name": "b", "kind": "metric", "unit": "count", "labels": ["l"]},
    {"name": "c", "kind": "metric", "unit": "s", "labels": []},
    {"name": "d", "kind": "metric", "labels": []}]})");
  const auto diff = diff_names(first, second);
  CHECK(diff.only_first == std::vector<TelemetryName>{{"b", Kind::kEvent}});
  CHECK(diff.only_second == std::vector<TelemetryName>{{"d", Kind::kMetric}});
  REQUIRE(diff.different.size() == 3);
  CHECK(diff.different[0].only_first == std::vector<std::string>{"y"});
  CHECK(diff.different[0].only_second == std::vector<std::string>{"z"});
  CHECK(diff.different[1].first_unit.empty());  // the first tells no unit, so none differs
  CHECK(diff.different[2].first_unit == "ms");
  CHECK(diff.different[2].second_unit == "s");
  CHECK_FALSE(diff.second_has_all);

  const auto more = list("c.json", R"([{"name": "a", "kind": "gauge", "unit": "ms", "labels": ["x"]}])");
  CHECK(diff_names(more, first).second_has_all);
}

TEST_CASE("a list with statuses is held to them") {
  const Folder folder;
  const auto list = [&](const char* name, const char* rows) { return read_names(folder.write(name, rows)); };
  const auto second =
      list("b.json", R"([{"name": "a", "kind": "gauge", "unit": "ms"}, {"name": "b", "kind": "event"}])");
  const auto against = [&](const char* rows) { return diff_names(list("a.json", rows), second); };

  const auto held = against(R"([
    {"name": "a", "kind": "metric", "unit": "ms", "status": "reported"},
    {"name": "a", "kind": "event", "status": "planned: safety"},
    {"name": "c", "kind": "metric", "unit": "s", "labels": ["x"], "status": "does not apply: there is none"}])");
  REQUIRE(held.statuses);
  CHECK(held.statuses->reported == 1);
  CHECK(held.statuses->planned == 1);
  CHECK(held.statuses->does_not_apply == 1);
  CHECK(held.statuses->without_status.empty());
  CHECK(held.statuses->contradicted.empty());
  CHECK(held.second_has_all);
  CHECK(held.only_first.empty());
  CHECK(held.only_second == std::vector<TelemetryName>{{"b", Kind::kEvent}});

  const auto broken = against(R"([
    {"name": "a", "kind": "metric", "unit": "s", "status": "planned: safety"},
    {"name": "b", "kind": "event"},
    {"name": "c", "kind": "event", "status": "reported"}])");
  REQUIRE(broken.statuses);
  CHECK(broken.statuses->contradicted == std::vector<TelemetryName>{{"a", Kind::kMetric}});
  CHECK(broken.statuses->without_status == std::vector<TelemetryName>{{"b", Kind::kEvent}});
  CHECK(broken.only_first == std::vector<TelemetryName>{{"c", Kind::kEvent}});
  CHECK(broken.different.empty());
  CHECK_FALSE(broken.second_has_all);

  CHECK_FALSE(against(R"([{"name": "a", "kind": "gauge"}])").statuses);
  CHECK_FALSE(diff_names(second, list("a.json", R"([{"name": "a", "kind": "gauge", "status": "reported"}])")).statuses);
}

TEST_CASE("damage in a run's telemetry is left out and told") {
  const Folder folder;
  const std::string odd = R"({"packet_id":"p","events":7,"system_health":{},"metrics":[1,{"name":7},{"name":"a b"},)"
                          R"({"name":"ok","unit":9,"attributes":[]},{"name":"ok","attributes":{"\u001b[31m":"x"}}]})";
  std::string text = packet_line() + "{\"torn\": \n" + "\xff\xfe\n" + odd + "\n" + packet_line();
  text.resize(text.size() - 20);
  const auto read = read_names(folder.write("telemetry.jsonl", text));
  CHECK(read.names.size() == 4);
  CHECK(read.names.at({"ok", Kind::kMetric}).labels.empty());
  REQUIRE(read.gaps.size() == 2);
  CHECK_THAT(read.gaps[0], ContainsSubstring("3 damaged lines"));
  CHECK_THAT(read.gaps[1], ContainsSubstring("6 malformed metrics or events"));
}

TEST_CASE("a run's telemetry with more names than any run has is refused, not held") {
  const Folder folder;
  std::string text;
  for (int packet = 0; packet < 101; ++packet) {
    text += R"({"packet_id":"p","events":[],"system_health":{},"metrics":[)";
    for (int i = 0; i < 1000; ++i) {
      text += std::string(i == 0 ? "" : ",") + "{\"name\":\"n" + std::to_string(packet * 1000 + i) + "\"}";
    }
    text += "]}\n";
  }
  CHECK_THAT(problem_of(folder.write("telemetry.jsonl", text)), ContainsSubstring("more than 100000 names"));
}

TEST_CASE("what cannot be read is an error that names the place") {
  const Folder folder;
  CHECK_THAT(problem_of("/nonexistent", base::ExitCode::kConfig),
             ContainsSubstring("no such file; give a list of names"));
  CHECK_THAT(problem_of("/dev/zero"), ContainsSubstring("is not a regular file"));
  CHECK_THAT(problem_of(folder.path.string()), ContainsSubstring("it has no telemetry.jsonl"));
  CHECK_THAT(problem_of(folder.write("telemetry.jsonl", "")), ContainsSubstring("no packet"));
  CHECK_THAT(problem_of_list(""), ContainsSubstring("is not JSON: parse error at line 1, column 1: "));
  CHECK_THAT(problem_of_list(std::string(100'000, '[')), ContainsSubstring("nested too deeply"));
  CHECK_THAT(problem_of_list("7"), ContainsSubstring("is not a list of names"));
  CHECK_THAT(problem_of_list("[]"), ContainsSubstring("is not a list of names"));
  CHECK_THAT(problem_of_list(R"({"name": "a"})"), ContainsSubstring("is not a list of names"));
  CHECK_THAT(problem_of_list(R"([{"name": "a", "kind": "gauge"}, {"name": "a"}])"),
             ContainsSubstring("entry 2: needs"));
  CHECK_THAT(problem_of_list(R"([{"name": "a\n", "kind": "gauge"}])"), ContainsSubstring("needs a \"name\""));
  CHECK_THAT(problem_of_list(R"([{"name": "a", "kind": "gauge", "unit": 1}])"),
             ContainsSubstring("\"unit\" is not a word"));
  CHECK_THAT(problem_of_list(R"([{"name": "a", "kind": "gauge", "labels": "x"}])"), ContainsSubstring("\"labels\""));
  for (const char* status :
       {"7", "\"\"", "\"planned\"", "\"planned:  \"", "\"does not apply: \"", "\"reported soon\""}) {
    const std::string row = std::string(R"({"name": "a", "kind": "gauge", "status": )") + status + "}";
    CHECK_THAT(problem_of_list("[" + row + "]"), ContainsSubstring("entry 1: its \"status\" must be one of"));
  }
  CHECK_THAT(problem_of_list(R"([{"name": "a", "kind": "gauge", "labels": [1]}])"),
             ContainsSubstring("label is not a word"));
  CHECK_THAT(problem_of_list(R"([{"name": "a", "kind": "gauge"}, {"name": "a", "kind": "counter"}])"),
             ContainsSubstring("is listed twice"));
}

}  // namespace esper::test::telemetry_names_test
