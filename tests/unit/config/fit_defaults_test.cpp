// No default contradicts a field that was given: each field alone, set to legal values, makes a run file that holds.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>

#include "config/fields/field_table.h"
#include "config/fields/field_text.h"
#include "config/loading/load.h"

namespace esper::config::fit_defaults_test {

using base::Duration;
using base::Length;

namespace {

using Texts = std::vector<std::string>;

// Values that the field's own limits allow: the least, the most and some between.
template <class T>
Texts within(const Limits& limits, std::initializer_list<double> between) {
  Texts texts;
  const auto add = [&](double value) {
    const bool legal = (!limits.min || value >= *limits.min) && (!limits.max || value <= *limits.max);
    if (legal) texts.push_back(number_text(value));
  };
  if (limits.min) add(*limits.min);
  if (limits.max) add(*limits.max);
  for (const double value : between) add(value);
  return texts;
}

struct LegalValues {
  const Limits& limits;
  Texts operator()(SectionField) const { return {}; }
  Texts operator()(const EnumField& field) const { return {field.names.begin(), field.names.end()}; }
  Texts operator()(const EntriesField&) const { return {}; }
  Texts operator()(bool*) const { return {"true", "false"}; }
  template <class Whole>
    requires std::is_integral_v<Whole>
  Texts operator()(Whole*) const {
    return within<Whole>(limits, {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 100, 1000});
  }
  Texts operator()(double*) const { return within<double>(limits, {0, 0.1, 0.5, 0.9, 1}); }
  Texts operator()(Duration*) const { return {"1s", "1h"}; }
  Texts operator()(Length*) const { return {"0 steps", "5 epochs"}; }
  Texts operator()(std::string*) const { return {}; }  // names and paths: what they name must exist
  Texts operator()(std::vector<std::int64_t>*) const { return {}; }
  Texts operator()(std::vector<double>*) const { return {}; }
  Texts operator()(std::vector<std::string>*) const { return {}; }
};

// What asks for something that no default can bring along: a file, classes, or samples of another kind.
bool needs_more(const std::string& field, const std::string& value) {
  static const std::multimap<std::string, std::string> known{{"data.kind", ""},     // a path
                                                             {"host.kind", "cnn"},  // images, except of the digits
                                                             {"host.kind", "transformer"},  // text
                                                             {"host.kind", "mlp"},
                                                             {"host.kind", "linear"},
                                                             {"host.kind", "exported"},     // a folder
                                                             {"host.unfreeze_epoch", ""},   // what is frozen
                                                             {"data.columns.missing", ""},  // tables
                                                             {"data.token_type", ""},
                                                             {"task", ""},           // data of that kind
                                                             {"training.loss", ""},  // a task
                                                             {"training.metric", ""},
                                                             {"training.early_stop_metric", ""},
                                                             {"checkpoint.best_metric", ""},
                                                             {"host.kernel", "even"},      // its own rule: odd
                                                             {"telemetry.limit_mb", "1"},  // its own rule: two files
                                                             {"data.image_size", ""},      // images
                                                             {"data.standardize_targets", "true"},  // regression
                                                             {"data.augment.crop_padding", ""},
                                                             {"data.augment.flip", ""},
                                                             {"growth.aggregation.attribution", "dataloader"},
                                                             {"policy.kind", "schedule"},
                                                             {"policy.kind", "ensemble"},
                                                             {"policy.kind", "process"},   // a program
                                                             {"policy.every", "0 steps"},  // its own rule
                                                             {"growth.kind", "deepen"}};   // blocks that can be copied
  const auto [first, last] = known.equal_range(field);
  return std::any_of(first, last, [&](const auto& entry) {
    if (entry.second == "even") return std::stoi(value) % 2 == 0;
    return entry.second.empty() || entry.second == value;
  });
}

std::string problems_of(const LoadedConfig& loaded) {
  std::string text;
  for (const auto& problem : loaded.problems) text += problem.path + ": " + problem.text + "; ";
  return text;
}

// A field that follows others says so.
void check_help(LoadedConfig& loaded, const std::vector<FieldRow>& standard) {
  const auto rows = field_table(loaded.config);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].is_section() || loaded.origins.contains(rows[i].path)) continue;
    if (field_json(rows[i].value) == field_json(standard[i].value)) continue;
    INFO(rows[i].path << " became " << field_yaml(rows[i].value) << "; its help: " << rows[i].help);
    CHECK(rows[i].help.find("default") != std::string_view::npos);
  }
}

TEST_CASE("each field alone, set to any legal value, makes no default contradict it") {
  const char* bases[] = {"{}", "host: {kind: cnn}", "data: {kind: mnist, path: m}\nhost: {kind: cnn}",
                         "data: {kind: text, path: t}", "data: {path: t}\nhost: {kind: transformer}"};
  RunConfig defaults;
  const auto standard = field_table(defaults);
  int checked = 0;
  for (const char* base : bases) {
    RunConfig config;
    for (const FieldRow& row : field_table(config)) {
      for (const auto& value : std::visit(LegalValues{row.limits}, row.value)) {
        if (needs_more(row.path, value)) continue;
        auto loaded = read_run_config_text(base, "run.yaml", {row.path + "=" + value});
        check_help(loaded, standard);
        INFO("\"" << base << "\" with " << row.path << " = " << value << ": " << problems_of(loaded));
        CHECK(loaded.problems.empty());
        ++checked;
      }
    }
  }
  CHECK(checked > 2000);
}

RunConfig loaded(const std::string& text) {
  const auto result = read_run_config_text(text, "run.yaml");
  INFO(text << ": " << problems_of(result));
  CHECK(result.problems.empty());
  return result.config;
}

TEST_CASE("defaults of the network at the start follow the fields that were given") {
  CHECK(loaded("host: {kind: cnn, blocks: 2}").host.pool_layers == 2);
  CHECK(loaded("host: {kind: cnn, blocks: 5}").host.pool_layers == 3);
  CHECK(loaded("host: {kind: cnn, pool_layers: 5}\ndata: {kind: cifar10, path: c}").host.blocks == 5);
  CHECK(loaded("host: {kind: cnn}\ndata: {shape: [1, 4, 16]}").host.pool_layers == 2);
  CHECK(loaded("host: {kind: cnn, blocks: 16}").host.base_channels == 2);
  CHECK(loaded("host: {kind: cnn}").data.shape == std::vector<std::int64_t>{1, 8, 8});
  CHECK(loaded("host: {kind: mlp}").data.shape.empty());
  const std::string text = "data: {kind: text, path: t}\nhost: ";
  CHECK(loaded(text + "{}").host.kind == HostKind::kTransformer);
  CHECK(loaded(text + "{embedding: 100}").host.heads == 5);
  CHECK(loaded(text + "{heads: 5}").host.embedding == 320);
  CHECK(loaded(text + "{heads: 12}").host.embedding == 384);
  CHECK(loaded(text + "{layers: 4}").host.segments == 2);
  CHECK(loaded(text + "{segments: 4}").host.layers == 8);
  const RunConfig plain;
  CHECK(loaded(text + "{}").host.embedding == plain.host.embedding);
  CHECK(loaded(text + "{}").host.layers == plain.host.layers);
}

TEST_CASE("the validation part is at most as large as what a test part leaves for training") {
  CHECK(loaded("data: {test_fraction: 0.9}").data.validation_fraction == 0.05);
  CHECK(loaded("data: {test_fraction: 0.7}").data.validation_fraction == 0.15);
  CHECK(loaded("data: {test_fraction: 0.5}").data.validation_fraction == RunConfig().data.validation_fraction);
  CHECK(loaded("data: {validation_fraction: 0.05, test_fraction: 0.1}").data.validation_fraction == 0.05);
}

TEST_CASE("how seeds are trained decides when they come, how long they are tried, and whether they are isolated") {
  const auto read = [](const std::string& text) { return read_run_config_text(text, "run.yaml").config; };
  const auto blended = read("growth: {training: blended}");
  CHECK_FALSE(blended.growth.isolate);
  CHECK(blended.growth.alpha_ticks == 2);
  CHECK(blended.growth.gates.evidence == Evidence::kNone);
  CHECK(blended.policy.heuristic.plateau_epochs == 0);
  const auto beside = read("growth: {training: straight_through}");
  CHECK(beside.growth.isolate);
  CHECK(beside.growth.alpha_ticks == 5);
  CHECK(beside.growth.gates.evidence == Evidence::kAblation);
  CHECK(beside.policy.heuristic.plateau_epochs == 3);
  const auto given = read("growth: {isolate: true, alpha_ticks: 7, gates: {evidence: control}}");
  CHECK(given.growth.isolate);
  CHECK(given.growth.alpha_ticks == 7);
  CHECK(given.growth.gates.evidence == Evidence::kControl);
  CHECK(given.training.ema_decay == 0.97);
  CHECK(read("training: {ema_decay: 0}\ngrowth: {gates: {evidence: control}}").training.ema_decay == 0);
  CHECK(blended.training.ema_decay == 0);
}

TEST_CASE("deepening brings its policy, its blueprint and room for all copies along, and no waiting") {
  const std::string text = "data: {kind: text, path: t}\nhost: {layers: 6, segments: 6}\ngrowth: ";
  const auto identity = loaded(text + "{kind: deepen}");
  CHECK(identity.policy.kind == PolicyKind::kSchedule);
  CHECK(identity.growth.blueprints == std::vector<std::string>{"copy_block"});
  CHECK(identity.growth.max_seeds == 6);
  CHECK(identity.growth.alpha_ticks == 1);
  CHECK(identity.growth.gates.min_gradient_ratio == 0);
  const auto plain = loaded(text + "{kind: deepen, deepen: {form: plain}, slots: [r0c1, r0c4], alpha_ticks: 7}");
  CHECK(plain.growth.blueprints == std::vector<std::string>{"copy_block_plain"});
  CHECK(plain.growth.max_seeds == 2);
  CHECK(plain.growth.alpha_ticks == 7);
  CHECK(loaded(text + "{}").policy.kind == PolicyKind::kHeuristic);
}

TEST_CASE("a table is not read as text because the network is a transformer") {
  const std::string transformer = "host: {kind: transformer}\ndata: {path: ";
  CHECK(loaded(transformer + "book.txt}").data.kind == DataKind::kText);
  for (const char* table : {"a.csv", "a.csv.gz", "a/B.CSV"}) {
    const auto result = read_run_config_text(transformer + table + "}", "run.yaml");
    INFO(table);
    CHECK(result.config.data.kind == DataKind::kDigits);
    REQUIRE(result.problems.size() == 1);
    CHECK(result.problems[0].path == "host.kind");
    CHECK(result.problems[0].text.starts_with("a transformer needs data of kind text"));
  }
}

TEST_CASE("what was given is kept, and a contradiction of two given fields is still refused") {
  const auto both = read_run_config_text("host: {kind: cnn, blocks: 2, pool_layers: 3}", "run.yaml");
  REQUIRE(both.problems.size() == 1);
  CHECK(both.problems[0].path == "host.pool_layers");
  CHECK(both.config.host.pool_layers == 3);
  const auto assigned = read_run_config_text("host: {kind: cnn, pool_layers: 3}", "run.yaml", {"host.blocks=2"});
  CHECK(assigned.problems.size() == 1);
}

}  // namespace
}  // namespace esper::config::fit_defaults_test
