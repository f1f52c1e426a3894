#include "tolaria/lane.h"

#include <ATen/Parallel.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "device/rng.h"
#include "program/recorder.h"
#include "storage/real_file_system.h"
#include "tolaria/step_roots.h"
#include "unit/tolaria/lane_cases.h"
#include <chrono>
#include <iostream>
#include <fstream>
#include "program/python_text.h"

using namespace esper;
using namespace esper::tests;

TEST_CASE("dev") {
  at::set_num_threads(1);
  program::DeskSettings settings;
  settings.compile.cache_dir = "/tmp/dev/cache";
  settings.python = "/work/main/.esper/python/bin/python";
  settings.torch_version = "2.11.0+cu130"; settings.device = "cpu";
  program::CompileDesk desk(storage::real_file_system(), settings);
  const char* only = std::getenv("CASE");
  for (const LaneCase& c : lane_cases()) {
    if (only && c.name.find(only) == std::string::npos) continue;
    auto a = make_model(c), b = make_model(c), d = make_model(c);
    const auto batch = make_batches(c, 1);
    auto eager = tolaria::prepare_lane(*a, leyline::Lane::kEager, batch, torch::kCPU, nullptr);
    auto replay = tolaria::prepare_lane(*b, leyline::Lane::kReplay, batch, torch::kCPU, nullptr);
    { auto x = make_model(c); tolaria::train_step(x->state, x->settings, batch, [&](const torch::Tensor& i) { return x->network.forward(i, kasmina::Mode::kTrain); });
      auto r = program::record(tolaria::step_roots(*x, batch), [&] { tolaria::train_step(x->state, x->settings, batch, [&](const torch::Tensor& i) { return x->network.forward(i, kasmina::Mode::kTrain); }); });
      if (auto* p = std::get_if<program::Program>(&r)) { std::ofstream("/tmp/dev/" + c.name + ".py") << program::python_text(*p); std::ofstream("/tmp/dev/" + c.name + ".txt") << program::to_text(*p); std::cout << c.name << " ops " << p->operations.size() << " inputs " << p->inputs.size() << "\n"; } }
    if (!replay.step) { std::cout << c.name << ": " << replay.refusal << "\n"; continue; }
    auto compiled = std::getenv("COMPILE") ? tolaria::prepare_lane(*d, leyline::Lane::kCompiled, batch, torch::kCPU, &desk) : tolaria::PreparedLane{};
    if (!compiled.step) std::cout << "  compiled: " << compiled.refusal << "\n"; else std::cout << "  compiled ready after " << compiled.warmup_ms << " ms " << compiled.recipe << "\n";
    for (int i = 0; i < 5; ++i) {
      at::manual_seed(i); eager.step(batch);
      at::manual_seed(i); replay.step(batch);
      if (compiled.step) { at::manual_seed(i); compiled.step(batch); }
    }
    const auto x = tolaria::named_tensors(a->state), y = tolaria::named_tensors(b->state), z = tolaria::named_tensors(d->state);
    double worst = 0; int bad = 0;
    for (std::size_t i = 0; i < x.size(); ++i) { if (!at::equal(x[i].tensor, y[i].tensor) && ++bad == 1) std::cout << "  replay differs: " << x[i].id << " " << (x[i].tensor - y[i].tensor).abs().max().item<double>() << "\n";
      if (compiled.step) worst = std::max(worst, (x[i].tensor - z[i].tensor).abs().max().item<double>()); }
    std::cout << "  compiled worst abs " << worst << "\n";
    auto time = [&](auto& lane) { const auto t = std::chrono::steady_clock::now(); int n = 0; double s = 0; do { for (int k = 0; k < 5; ++k) lane.step(batch); n += 5; s = std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count(); } while (s < 0.15); return s / n * 1e6; };
    for (int r = 0; r < 3; ++r) { std::cout << "  eager " << time(eager) << " replay " << time(replay); if (compiled.step) std::cout << " compiled " << time(compiled); std::cout << "\n"; }
  }
}
