#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "config/load.h"

using namespace esper::base;
using namespace esper::config;
using Catch::Matchers::StartsWith;

TEST_CASE("rules between fields") {
  struct Case {
    std::string text, expected;  // expected: how the only problem starts; empty: none
  };
  const Case c = GENERATE(
      Case{"device: {kind: cuda:1}", ""}, Case{"device: {kind: gpu}", "f:1:16: device.kind: must be auto, cpu"},
      Case{"device: {kind: \"cuda:\"}", "f:1:16: device.kind"}, Case{"device: {kind: cuda:x}", "f:1:16: device.kind"},
      Case{"data: {kind: csv}", "f:1:14: data.path: data of kind csv needs a path"},
      Case{"data: {kind: csv, path: x.csv}", ""},
      Case{"data: {kind: synthetic, path: x}", "f:1:31: data.path: data of kind synthetic"},
      Case{"data: {kind: synthetic, validation_path: x}", "f:1:42: data.validation_path"},
      Case{"data: {kind: synthetic, test_path: x}", "f:1:36: data.test_path: data of kind synthetic"},
      Case{"data: {kind: synthetic, test_fraction: 0.2}", ""},
      Case{"data: {kind: csv, path: x, test_path: x}", "f:1:39: data.test_path: must differ from data.path; "},
      Case{"data: {kind: csv, path: x, validation_path: y, test_path: y}",
           "f:1:59: data.test_path: must differ from data.validation_path; "},
      Case{"data: {kind: mnist, path: x, test_path: x}", ""},
      Case{"data: {kind: csv, path: x, test_path: y, test_fraction: 0.1}",
           "f:1:57: data.test_fraction: splits off a second test part beside data.test_path; set one"},
      Case{"data: {validation_fraction: 0.6, test_fraction: 0.4}",
           "f:1:49: data.test_fraction: 0.4 and data.validation_fraction, 0.6, leave no samples for training; lower"},
      Case{"data: {validation_fraction: 0.7, test_fraction: 0.3}", "f:1:49: data.test_fraction"},
      Case{"data: {validation_fraction: 0.5, test_fraction: 0.4}", ""},
      Case{"data: {kind: csv, path: x, validation_path: y, validation_fraction: 0.9, test_fraction: 0.4}", ""},
      Case{"data: {kind: synthetic, shape: [4, 5]}", "f:1:32: data.shape: its sizes must multiply"},
      Case{"data: {kind: synthetic, shape: [1, 4, 4]}\nhost: {kind: cnn}", ""},
      Case{"data: {kind: csv, path: x, augment: {flip: true}}", "f:1:44: data.augment.flip: only images"},
      Case{"data: {kind: csv, path: x, shape: [1, 8, 8], augment: {flip: true}}", ""},
      Case{"data: {kind: csv, path: x, image_size: 8}", "f:1:40: data.image_size: only images"},
      Case{"data: {kind: text, path: x}\nhost: {kind: transformer}", ""},
      Case{"data: {kind: text, path: x, shape: [4]}\nhost: {kind: transformer}", "f:1:36: data.shape: text has no"},
      Case{"data: {kind: text, path: x}", ""},
      Case{"data: {kind: text, path: x}\nhost: {kind: mlp}",
           "f:2:14: host.kind: data of kind text needs a transformer"},
      Case{"host: {kind: transformer}", "f:1:14: host.kind: a transformer needs data of kind text"},
      Case{"data: {kind: csv, path: x}\nhost: {kind: cnn}", "f:2:14: host.kind: a cnn needs images"},
      Case{"data: {shape: [1, 8, 8]}\nhost: {kind: cnn}", ""}, Case{"host: {kind: cnn}", ""},
      Case{"data: {path: x}\nhost: {kind: cnn}", "f:2:14: host.kind: a cnn needs images; set data.shape"},
      Case{"data: {shape: [1, 8, 8]}\nhost: {kind: cnn, kernel: 2}", "f:2:27: host.kernel: must be odd"},
      Case{"host: {kind: mlp, kernel: 2}", ""},
      Case{"data: {shape: [1, 8, 8]}\nhost: {kind: cnn, blocks: 2, pool_layers: 3}",
           "f:2:43: host.pool_layers: must not exceed"},
      Case{"data: {shape: [1, 8, 8]}\nhost: {kind: cnn, blocks: 16, base_channels: 8}",
           "f:2:46: host.base_channels: the last of 16"},
      Case{"host: {kind: mlp, hidden: []}", "f:1:27: host.hidden: an mlp needs"},
      Case{"host: {kind: linear, hidden: []}", ""},
      Case{"data: {kind: text, path: x}\nhost: {kind: transformer, embedding: 64, heads: 5}",
           "f:2:49: host.heads: must divide"},
      Case{"data: {kind: text, path: x}\nhost: {kind: transformer, layers: 6, segments: 4}",
           "f:2:48: host.segments: must divide"},
      Case{"host: {modules: [r0c0=mlp, r0c1=mlp]}", ""},
      Case{"host: {modules: [mlp]}", "f:1:18: host.modules[0]: \"mlp\" must name a slot and a blueprint"},
      Case{"host: {modules: [r0c0=]}", "f:1:18: host.modules[0]: \"r0c0=\" must name"},
      Case{"host: {modules: [r0c0=mlp, r0c0=norm]}", "f:1:28: host.modules[1]: slot r0c0 already has a module"},
      Case{"telemetry: {limit_mb: 128}", ""}, Case{"telemetry: {segment_mb: 1, limit_mb: 2}", ""},
      Case{"telemetry: {limit_mb: 100}", ""},
      Case{"telemetry: {limit_mb: 100, segment_mb: 64}", "f:1:23: telemetry.limit_mb: must be 0 or >= 2 *"},
      Case{"training: {optimizer: {nesterov: true}}", ""},
      Case{"training: {optimizer: {nesterov: true, momentum: 0}}", "f:1:34: training.optimizer.nesterov: needs"},
      Case{"training: {optimizer: {nesterov: true, kind: adamw}}",
           "f:1:34: training.optimizer.nesterov: applies to sgd"},
      Case{"training: {schedule: {kind: cosine, warmup_steps: 5, total_steps: 5}}",
           "f:1:67: training.schedule.total_steps: must exceed"},
      Case{"host: {kind: mlp, hidden: [4, 4]}\ngrowth: {slots: [r0c0, r0c1]}", ""},
      Case{"host: {kind: mlp, hidden: [4, 4]}\ngrowth: {slots: [r0c0, r0c2]}",
           "f:2:24: growth.slots[1]: this host has no slot \"r0c2\"; it has r0c0 to r0c1"},
      Case{"host: {kind: mlp, hidden: [4], modules: [r0c1=norm]}",
           "f:1:42: host.modules[0]: this host has no slot \"r0c1\""},
      Case{"growth: {slots: [r0c0, 0c0]}", "f:1:24: growth.slots[1]: \"0c0\" is not a slot"},
      Case{"growth: {slots: [r0c0, r0c0]}", "f:1:24: growth.slots[1]: \"r0c0\" is listed twice"},
      Case{"host: {kind: mlp, hidden: [4]}\ngrowth: {aggregation: {classes: [\"r0c3=0\"]}}",
           "f:2:34: growth.aggregation.classes[0]: this host has no slot \"r0c3\""},
      Case{"host: {kind: mlp, hidden: [4, 4]}\ngrowth: {aggregation: {classes: [\"r0c0=0,1\", \"r0c1=1\"]}}",
           "f:2:46: growth.aggregation.classes[1]: class 1 is given to r0c0 already"},
      Case{"host: {kind: mlp, hidden: [4, 4]}\ngrowth: {aggregation: {classes: [\"r0c0=0\", \"r0c1=0,0\"]}}",
           "f:2:44: growth.aggregation.classes[1]: class 0 is given to r0c0 already"},
      Case{"host: {kind: mlp}\ngrowth: {slot_alpha: [\"r0c0=cosine,8,0.7\"]}", ""},
      Case{"growth: {slot_alpha: [\"r0c0=cosine,8\"]}",
           "f:1:23: growth.slot_alpha[0]: \"r0c0=cosine,8\" is not slot=curve,epochs,target, like r0c1=cosine,8,0.7"},
      Case{"growth: {slot_alpha: [\"r0c0=cosine,8,0.7,\"]}",
           "f:1:23: growth.slot_alpha[0]: \"r0c0=cosine,8,0.7,\" is not slot=curve"},
      Case{"growth: {slot_alpha: [\"r0c0=cosine,0,0.7\"]}",
           "f:1:23: growth.slot_alpha[0]: in \"r0c0=cosine,0,0.7\", \"0\" is not a number of epochs, 1 to 1000000"},
      Case{"growth: {slot_alpha: [\"r0c0=cosine,8,1.5\"]}",
           "f:1:23: growth.slot_alpha[0]: in \"r0c0=cosine,8,1.5\", \"1.5\" is not a target, 0.05 to 1"},
      Case{"growth: {slot_alpha: [\"r0c0=steep,8,1\"]}",
           "f:1:23: growth.slot_alpha[0]: in \"r0c0=steep,8,1\", \"steep\" is not a curve (linear, cosine, sigmoid)"},
      Case{"growth: {slot_alpha: [\"c0=linear,8,1\"]}",
           "f:1:23: growth.slot_alpha[0]: in \"c0=linear,8,1\", \"c0\" is not a slot"},
      Case{"growth: {slot_alpha: [\"r0c0=linear,8,1\", \"r0c0=linear,9,1\"]}",
           "f:1:42: growth.slot_alpha[1]: \"r0c0\" is listed twice"},
      Case{"growth: {slot_alpha: [\"r0c7=linear,8,1\"]}",
           "f:1:23: growth.slot_alpha[0]: this host has no slot \"r0c7\"; it has r0c0 to r0c"},
      Case{"host: {kind: linear}\ngrowth: {slot_alpha: [\"r0c0=linear,8,1\"]}",
           "f:2:23: growth.slot_alpha[0]: this host has no slot \"r0c0\"; it has none"},
      Case{"growth: {blueprints: [mlp, norm, mlp]}", "f:1:34: growth.blueprints[2]: \"mlp\" is listed twice"},
      Case{"safety: {save_deadline: 0s}", "f:1:25: safety.save_deadline: must be > 0"},
      Case{"name: a/b", "f:1:7: name: must be 1 to 100"}, Case{"name: .hidden", "f:1:7: name"},
      Case{"name: \"\"", "f:1:7: name"}, Case{"name: a.b_c-1", ""},
      Case{"runs_dir: \"\"", "f:1:11: runs_dir: must name a folder"});
  CAPTURE(c.text);
  const LoadedConfig loaded = read_run_config_text(c.text + "\n", "f");
  if (c.expected.empty()) {
    CHECK(loaded.problems.empty());
  } else {
    REQUIRE(loaded.problems.size() == 1);
    CHECK_THAT(to_string(loaded.problems[0]), StartsWith(c.expected));
  }
}
