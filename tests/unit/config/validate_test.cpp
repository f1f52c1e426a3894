#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "unit/config/problem_case.h"

namespace esper::test::validate_test {

using Case = esper::test::ProblemCase;
using esper::test::check_problem;

TEST_CASE("rules between the fields of a section, and between sections") {
  const Case c = GENERATE(
      Case{"device: {kind: cuda:1}", ""}, Case{"device: {kind: gpu}", "f:1:16: device.kind: must be auto, cpu"},
      Case{"device: {kind: \"cuda:\"}", "f:1:16: device.kind"}, Case{"device: {kind: cuda:x}", "f:1:16: device.kind"},
      Case{"training: {schedule: {kind: cosine, total_steps: 9}}\ngrowth: {seed_schedule: {kind: cosine}}",
           "f:2:32: growth.seed_schedule.kind: cosine continues to the run's end"},
      Case{"training: {schedule: {kind: cosine, total_steps: 9, min_factor: 0.1}}\ngrowth: {seed_schedule: {kind: "
           "cosine}}",
           ""},
      Case{"data: {kind: text, path: x}\nhost: {kind: transformer}", ""}, Case{"data: {kind: text, path: x}", ""},
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
      Case{"training: {grad_scaler: {init_scale: 1024, growth_factor: 4, backoff_factor: 0.25, growth_interval: 1}}",
           ""},
      Case{"training: {grad_scaler: {init_scale: 0}}", "f:1:38: training.grad_scaler.init_scale: must be"},
      Case{"training: {grad_scaler: {growth_factor: 1}}", "f:1:41: training.grad_scaler.growth_factor: must be"},
      Case{"training: {grad_scaler: {backoff_factor: 1}}", "f:1:42: training.grad_scaler.backoff_factor: must be"},
      Case{"training: {grad_scaler: {backoff_factor: 0}}", "f:1:42: training.grad_scaler.backoff_factor: must be"},
      Case{"training: {grad_scaler: {growth_interval: 0}}", "f:1:43: training.grad_scaler.growth_interval: must be"},
      Case{"step: {graph: {warmup_batches: 1}}", ""},
      Case{"step: {graph: {warmup_batches: 0}}", "f:1:32: step.graph.warmup_batches: must be"},
      Case{"safety: {save_deadline: 0s}", "f:1:25: safety.save_deadline: must be > 0"},
      Case{"name: a/b", "f:1:7: name: must be 1 to 100"}, Case{"name: .hidden", "f:1:7: name"},
      Case{"name: \"\"", "f:1:7: name"}, Case{"name: a.b_c-1", ""},
      Case{"runs_dir: \"\"", "f:1:11: runs_dir: must name a folder"});
  check_problem(c);
}

}  // namespace esper::test::validate_test
