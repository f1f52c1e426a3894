#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <iostream>

#include "program/recorder.h"
#include "program/replay.h"
#include "program/package.h"
#include "program/python_text.h"
#include <fstream>
#include "unit/program/steps.h"

using namespace esper::program;
using namespace esper::tests;

namespace {

Program recorded(TinyStep& step) {
  const auto roots = step.roots();
  auto result = record(roots, [&] { step.run(); });
  if (const auto* reason = std::get_if<std::string>(&result)) FAIL(*reason);
  return std::get<Program>(result);
}

}  // namespace

TEST_CASE("a recorded step replays to the same bits") {
  at::set_num_threads(1);
  TinyStep eager, replayed;
  const Program program = recorded(replayed);
  eager.run();
  std::cout << to_text(program);
  const auto inputs = replayed.inputs();
  const std::size_t moving[] = {2, 3};
  Replay replay(program, inputs, moving);
  std::cout << "calls " << replay.num_calls() << " bytes " << replay.planned_bytes() << "\n";
  for (int i = 0; i < 5; ++i) {
    eager.run();
    replay.run();
    CHECK(at::equal(eager.parameters, replayed.parameters));
  }
  const auto time = [](auto&& f) {
    for (int i = 0; i < 200; ++i) f();
    const auto t = std::chrono::steady_clock::now();
    for (int i = 0; i < 2000; ++i) f();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - t).count() / 2000;
  };
  for (int i = 0; i < 3; ++i)
    std::cout << "eager " << time([&] { eager.run(); }) << " replay " << time([&] { replay.run(); }) << "\n";

  std::ofstream("/tmp/dev/tiny.py") << python_text(program);
  if (std::ifstream("/tmp/dev/tiny.pt2")) {
    TinyStep compiled, reference;
    Package package("/tmp/dev/tiny.pt2");
    const auto in = compiled.inputs();
    for (int i = 0; i < 5; ++i) { package.run(in); reference.run(); }
    std::cout << "diff " << (compiled.parameters - reference.parameters).abs().max().item<float>() << "\n";
    for (int i = 0; i < 3; ++i) std::cout << "compiled " << time([&] { package.run(in); }) << "\n";
  }
}
