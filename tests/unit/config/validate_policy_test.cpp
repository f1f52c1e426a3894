#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "unit/config/problem_case.h"

namespace esper::test::validate_policy_test {

using Case = esper::test::ProblemCase;
using esper::test::check_problem;

TEST_CASE("rules of the policy and of its schedule") {
  const Case c = GENERATE(
      Case{"policy: {kind: schedule, schedule: [\"2:r0c0=mlp\", \"30%:r0c0=norm\"]}", ""},
      Case{"policy: {kind: schedule}", "f:1:16: policy.schedule: is empty, but kind schedule needs lines"},
      Case{"policy: {schedule: [\"r0c0=mlp\"]}",
           "f:1:21: policy.schedule[0]: \"r0c0=mlp\" is not time:slot=blueprint; write it like 2:r0c2=conv_light"},
      Case{"policy: {schedule: [\"11:r0c0=mlp\"]}",
           "f:1:21: policy.schedule[0]: the run ends with epoch 10, before epoch 11"},
      Case{"epochs: 11\npolicy: {schedule: [\"11:r0c0=mlp\"]}",
           "f:2:21: policy.schedule[0]: nothing is grown after the run's last epoch, 11; raise epochs"},
      Case{"policy: {schedule: [\"100%:r0c0=mlp\"]}", "f:1:21: policy.schedule[0]: nothing is grown after the run's"},
      Case{"epochs: 12\npolicy: {schedule: [\"11:r0c0=mlp\"]}", ""},
      Case{"policy: {schedule: [\"2:r0c0=noop\"]}",
           "f:1:21: policy.schedule[0]: \"noop\" is grown only where growth.blueprints lists it"},
      Case{"host: {hidden: [8, 8]}\npolicy: {schedule: [\"2:r0c1=widen\"]}",
           "f:2:21: policy.schedule[0]: \"widen\" is grown only where growth.blueprints lists it"},
      Case{"host: {hidden: [8, 8]}\ngrowth: {blueprints: [widen]}\npolicy: {schedule: [\"2:r0c1=widen\"]}", ""},
      Case{"policy: {schedule: [\"3:r0c0=mlp\", \"30%:r0c0=norm\"]}",
           "f:1:35: policy.schedule[1]: \"3:r0c0=mlp\" names r0c0 after epoch 3 already"},
      Case{"epochs: 20\npolicy: {schedule: [\"3:r0c0=mlp\", \"30%:r0c0=norm\"]}", ""},
      Case{"host: {hidden: [8, 8]}\ngrowth: {slots: [r0c0]}\npolicy: {schedule: [\"2:r0c1=mlp\"]}",
           "f:3:21: policy.schedule[0]: growth.slots has r0c0 and not r0c1; add it there"},
      Case{"growth: {blueprints: [mlp, norm]}\npolicy: {schedule: [\"2:r0c0=linear\"]}",
           "f:2:21: policy.schedule[0]: growth.blueprints has mlp, norm and not \"linear\""},
      Case{"host: {modules: [r0c0=mlp]}\npolicy: {schedule: [\"2:r0c0=norm\"]}",
           "f:2:21: policy.schedule[0]: host.modules has a module at r0c0 from the start; name another slot, or "
           "remove it there"},
      Case{"policy: {kind: never}", "f:1:16: policy.kind: "},
      Case{"policy: {periodic: {every_epochs: 0}}", "f:1:35: policy.periodic.every_epochs: "},
      Case{"policy: {random: {probability: 1.5}}", "f:1:32: policy.random.probability: "},
      Case{"policy: {kind: gnn, risk: {loss_spike: 0.05}}", ""},
      Case{"policy: {kind: gnn, risk: {loss_spike: 0.05, loss_warning: 0.06}}",
           "f:1:60: policy.risk.loss_warning: must not exceed policy.risk.loss_spike, 0.05"},
      Case{"policy: {breaker: {open_time: 0s}}", "f:1:31: policy.breaker.open_time: must be > 0"},
      Case{"policy: {kind: ensemble, ensemble: [heuristic, gnn]}", ""}, Case{"policy: {ensemble: [none]}", ""},
      Case{"policy: {kind: ensemble}", "f:1:16: policy.ensemble: is empty, but kind ensemble needs policies"},
      Case{"policy: {kind: ensemble, ensemble: [heuristic, gnm]}",
           "f:1:48: policy.ensemble[1]: \"gnm\" is not a policy that an ensemble can ask; those are none, heuristic, "
           "periodic, random, schedule, gnn, process"},
      Case{"policy: {kind: ensemble, ensemble: [ensemble]}",
           "f:1:37: policy.ensemble[0]: \"ensemble\" is not a policy that an ensemble can ask; those are none, "
           "heuristic"},
      Case{"policy: {kind: ensemble, ensemble: [gnn, none, gnn]}",
           "f:1:48: policy.ensemble[2]: gnn is listed already; list each policy once"},
      Case{"policy: {kind: ensemble, ensemble: [heuristic, schedule]}",
           "f:1:16: policy.schedule: is empty, but kind schedule needs lines"},
      Case{"policy: {every: 200 steps, overlap: on}", ""},
      Case{"policy: {overlap: on, schedule: [\"9:r0c0=mlp\"]}",
           "f:1:34: policy.schedule[0]: nothing is grown after the run's last epoch, 10, which is when policy.every "
           "and"},
      Case{"policy: {overlap: on, schedule: [\"8:r0c0=mlp\"]}", ""},
      Case{"policy: {every: 4 epochs, schedule: [\"9:r0c0=mlp\"]}",
           "f:1:38: policy.schedule[0]: nothing is grown after"},
      Case{"policy: {every: 4 epochs, schedule: [\"8:r0c0=mlp\"]}", ""},
      Case{"policy: {every: 0 epochs}", "f:1:17: policy.every: must be at least 1"},
      Case{"policy: {overlap: maybe}", "f:1:19: policy.overlap: "},
      Case{"policy: {kind: process, command: [python3, c.py]}", ""},
      Case{"policy: {kind: ensemble, ensemble: [heuristic, process], command: [./c]}", ""},
      Case{"policy: {kind: process}", "f:1:16: policy.command: is empty, but kind process needs a program"},
      Case{"policy: {kind: ensemble, ensemble: [gnn, process]}",
           "f:1:16: policy.command: is empty, but kind process needs"},
      Case{"policy: {kind: process, command: [\"\"]}", "f:1:35: policy.command[0]: must name a program"},
      Case{"policy: {kind: gnn, command: [python3, c.py]}", ""},  // to compare with
      Case{"policy: {kind: gnn, host: process}", ""}, Case{"policy: {host: elsewhere}", "f:1:16: policy.host: "},
      Case{"policy: {kind: gnn, host: process, gnn: {compile: true}}",
           "f:1:51: policy.gnn.compile: needs policy.host: thread"},
      Case{"policy: {kind: ensemble, ensemble: [heuristic, gnn], host: process, gnn: {compile: true}}",
           "f:1:84: policy.gnn.compile: needs policy.host: thread"},
      Case{"policy: {kind: gnn, host: process, gnn: {device: run}}",
           "f:1:50: policy.gnn.device: run needs policy.host"},
      Case{"policy: {kind: gnn, gnn: {device: run}}", ""},
      Case{"policy: {kind: gnn, gnn: {device: cuda}}", "f:1:35: policy.gnn.device: "},
      Case{"policy: {kind: gnn, gnn: {compile: true}}", ""},
      Case{"policy: {host: process, gnn: {compile: true}}", ""},  // no network decides
      Case{"policy: {kind: gnn, gnn: {bf16: true}}", ""},
      Case{"policy: {kind: gnn, gnn: {bf16: true, compile: true}}",
           "f:1:33: policy.gnn.bf16: the network in bf16 is not compiled"},
      Case{"policy: {gnn: {bf16: true, compile: true}}", ""},  // likewise
      Case{"safety: {policy_start_deadline: 0s}", "f:1:33: safety.policy_start_deadline: must be > 0"},
      Case{"policy: {kind: gnn, gnn: {temperature: -1}}", "f:1:40: policy.gnn.temperature: "});
  check_problem(c);
}

}  // namespace esper::test::validate_policy_test
