#pragma once
// Compiling in a test: a desk over a cache folder, programs of models, packages made from any text.

#include <filesystem>
#include <memory>
#include <string>

#include "integration/lanes/python_with_torch.h"
#include "program/compile_desk.h"
#include "tolaria/lane.h"
#include "tolaria/step_runner.h"
#include "unit/tolaria/lane_cases.h"

namespace esper::tests {

program::DeskSettings desk_settings(const std::string& cache_folder);

// Of this build, kept between test runs, so that what is compiled once is found from then on. Another worker has
// another folder.
std::string lasting_cache();
// A desk over it; its worker serves all test cases of this process.
program::CompileDesk& lasting_desk();

// A folder for one test, with a cache in it that starts empty.
struct LaneRoom {
  std::filesystem::path path;
  LaneRoom();
  ~LaneRoom();
  LaneRoom(const LaneRoom&) = delete;
  LaneRoom& operator=(const LaneRoom&) = delete;

  std::string cache() const { return path / "programs"; }
  std::unique_ptr<program::CompileDesk> desk() const;
  // One that asks for programs of all batch sizes.
  std::unique_ptr<program::CompileDesk> dynamic_desk() const;
  // Names in a folder of the cache.
  std::vector<std::string> names_in(const std::string& folder) const;
};

// The model's step as a program; the model is as before.
program::Program program_of(tolaria::Model& model, std::span<const tolaria::Microbatch> batch);

// Compiles the text and returns the package's file in the room.
std::string compile_text(const LaneRoom& room, const std::string& text, const std::string& recipe);
// Puts a package into the room's cache as that of `key`.
void plant(const LaneRoom& room, const std::string& key, const std::string& package);

// A run of steps with what it told. It is dynamic where the desk is.
struct LaneRun {
  LaneRun(const LaneCase& c, leyline::Lane lane, program::CompileDesk* desk, std::int64_t check_every = 0);

  std::vector<leyline::TelemetryEvent> told(std::string_view name) const;
  void steps(int count, const LaneCase& c, std::uint64_t first_seed, int accumulation = 1);
  const tolaria::LaneFigures& figures() const { return runner->figures(); }

  std::unique_ptr<tolaria::Model> model;
  std::vector<leyline::TelemetryEvent> events;
  std::unique_ptr<tolaria::StepRunner> runner;
};

// State and buffers.
bool same_bits(const tolaria::Model& a, const tolaria::Model& b);

}  // namespace esper::tests
