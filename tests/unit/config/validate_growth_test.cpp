#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "unit/config/problem_case.h"

namespace esper::test::validate_growth_test {

using Case = esper::test::ProblemCase;
using esper::test::check_problem;

TEST_CASE("rules between the fields of growth") {
  const Case c = GENERATE(
      Case{"epochs: 10\ngrowth: {gates: {evidence: control}}", ""},
      Case{"epochs: 9\ngrowth: {gates: {evidence: control}}",
           "f:2:28: growth.control.budget: 0.1 of 9 epochs is less than one epoch, so that no seed can have a control "
           "and "
           "none germinates; set at least 0.1112, or"},
      Case{"growth: {control: {budget: 0.05}, gates: {evidence: control}}",
           "f:1:28: growth.control.budget: 0.05 of 10"},
      Case{"epochs: 9\ngrowth: {gates: {evidence: control}}\npolicy: {kind: none}", ""},
      Case{"growth: {slots: [r0c0, 0c0]}", "f:1:24: growth.slots[1]: \"0c0\" is not a slot"},
      Case{"growth: {slots: [r0c0, r0c0]}", "f:1:24: growth.slots[1]: \"r0c0\" is listed twice"},
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
      Case{"growth: {blueprints: [mlp, norm, mlp]}", "f:1:34: growth.blueprints[2]: \"mlp\" is listed twice"});
  check_problem(c);
}

}  // namespace esper::test::validate_growth_test
