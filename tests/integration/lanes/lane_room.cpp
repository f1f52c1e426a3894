#include "integration/lanes/lane_room.h"

#include <errno.h>
#include <stdlib.h>

#include <fstream>

#include "device/rng.h"
#include "program/compile/worker_source.h"
#include "program/python_text.h"
#include "storage/checksum.h"
#include "storage/real_file_system.h"
#include "tolaria/step_roots.h"

namespace esper::tests {
namespace fs = std::filesystem;

program::DeskSettings desk_settings(const std::string& cache_folder) {
  program::DeskSettings settings;
  settings.compile.cache_dir = cache_folder;
  settings.python = test::python_path();
  settings.torch_version = ESPER_LIBTORCH;
  settings.device = "cpu";
  settings.threads = 1;
  settings.compile.deadline = std::chrono::minutes(10);  // on a busy machine
  return settings;
}

std::string lasting_cache() {
  const auto worker = storage::hash64(storage::bytes_of(program::kWorkerSource));
  // One for each program: they run side by side.
  const fs::path all = fs::path(ESPER_BINARY_DIR "/lane_cache") / program_invocation_short_name;
  const fs::path own = all / storage::hex64(worker);
  if (!fs::exists(own)) fs::remove_all(all);
  fs::create_directories(own);
  return own / "programs";
}

program::CompileDesk& lasting_desk() {
  static program::CompileDesk desk(storage::real_file_system(), desk_settings(lasting_cache()));
  return desk;
}

LaneRoom::LaneRoom() {
  std::string name = ESPER_BINARY_DIR "/lane_room_XXXXXX";  // on the disk where the lasting cache is
  REQUIRE(mkdtemp(name.data()) != nullptr);
  path = name;
  fs::create_directories(cache());
  fs::permissions(cache(), fs::perms::owner_all);
  // The compiler's headers are ready there.
  fs::create_directories(lasting_cache() + "/worker");
  fs::create_directory_symlink(lasting_cache() + "/worker", cache() + "/worker");
}

LaneRoom::~LaneRoom() {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

std::unique_ptr<program::CompileDesk> LaneRoom::desk() const {
  return std::make_unique<program::CompileDesk>(storage::real_file_system(), desk_settings(cache()));
}

std::unique_ptr<program::CompileDesk> LaneRoom::dynamic_desk() const {
  program::DeskSettings settings = desk_settings(cache());
  settings.compile.dynamic = true;
  return std::make_unique<program::CompileDesk>(storage::real_file_system(), settings);
}

std::vector<std::string> LaneRoom::names_in(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::path(cache()) / folder, ignored)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

program::Program program_of(tolaria::Model& model, std::span<const tolaria::Microbatch> batch) {
  const tolaria::StepSnapshot start(model, torch::kCPU);
  const auto forward = tolaria::training_forward(model.network);
  const auto step = [&] { tolaria::train_step(model.state, model.settings, batch, forward); };
  step();
  auto recorded = program::record(tolaria::step_roots(model, batch), step);
  start.restore();
  if (const auto* reason = std::get_if<std::string>(&recorded)) FAIL(*reason);
  return std::get<program::Program>(recorded);
}

std::string compile_text(const LaneRoom& room, const std::string& text, const std::string& recipe) {
  // The lasting folder has the compiler's headers ready, and a worker that is warm keeps its job's folder to itself.
  static program::PackageCache cache(storage::real_file_system(), {lasting_cache()});
  static program::Compiler compiler(
      [] {
        program::CompilerSettings settings;
        settings.python = test::python_path();
        settings.torch_version = ESPER_LIBTORCH;
        return settings;
      }(),
      cache);
  program::CompileRequest request;
  request.source = text;
  request.recipe = recipe;
  const auto hash = storage::hex64(storage::hash64(storage::bytes_of(recipe + text)));
  request.key = hash + hash;
  if (!cache.find(request.key)) {
    compiler.submit(request);
    const auto outcome = compiler.wait(request.key, std::chrono::seconds(180));
    REQUIRE(outcome);
    INFO(outcome->reason);
    REQUIRE_FALSE(outcome->failure);
  }
  const auto made = cache.find(request.key);
  REQUIRE(made);
  const fs::path package = room.path / (request.key + ".pt2");
  fs::copy_file(made->file.path(), package, fs::copy_options::overwrite_existing);
  return package;
}

void plant(const LaneRoom& room, const std::string& key, const std::string& package) {
  program::PackageCache cache(storage::real_file_system(), {room.cache()});
  const auto outcome = cache.insert(key, package, {"default", "full", ESPER_LIBTORCH, "g++", 1000, ""});
  INFO(outcome.reason);
  REQUIRE_FALSE(outcome.failure);
  REQUIRE(cache.find(key));
}

LaneRun::LaneRun(const LaneCase& c, leyline::Lane lane, program::CompileDesk* desk, std::int64_t check_every)
    : model(make_model(c)) {
  leyline::StepConfig config;
  config.lane = lane;
  config.check_every = check_every;
  config.compile.dynamic = desk != nullptr && desk->is_dynamic();
  runner = std::make_unique<tolaria::StepRunner>(
      *model, config, torch::kCPU,
      tolaria::RunnerServices{desk, nullptr, {}, [this](leyline::TelemetryEvent event) { events.push_back(event); }});
}

std::vector<leyline::TelemetryEvent> LaneRun::told(std::string_view name) const {
  std::vector<leyline::TelemetryEvent> found;
  for (const auto& event : events) {
    if (event.description == name) found.push_back(event);
  }
  return found;
}

void LaneRun::steps(int count, const LaneCase& c, std::uint64_t first_seed, int accumulation) {
  constexpr std::int64_t kManyLeft = 100'000'000;  // so that compiling pays in lane auto
  for (int step = 0; step < count; ++step) {
    runner->step(make_batches(c, accumulation, first_seed + static_cast<std::uint64_t>(step)), {step, kManyLeft});
  }
}

bool same_bits(const tolaria::Model& a, const tolaria::Model& b) {
  const auto left = tolaria::named_tensors(a.state), right = tolaria::named_tensors(b.state);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!at::equal(left[i].tensor, right[i].tensor)) return false;
  }
  const auto buffers = a.network.buffers(), others = b.network.buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (!at::equal(buffers[i].tensor, others[i].tensor)) return false;
  }
  return left.size() == right.size() && buffers.size() == others.size();
}

}  // namespace esper::tests
