#pragma once
// Compiling in a test: a desk over a cache folder, programs of models, packages made from any text.

#include <filesystem>
#include <memory>
#include <string>

#include "integration/lanes/python_with_torch.h"
#include "lanes/prepared_lane.h"
#include "program/compile_service.h"
#include "support/models/lane_steps.h"

namespace esper::tests {

program::CompileServiceSettings compile_service_settings();

// Of this build, kept between test runs, so that what is compiled once is found from then on. Another worker has
// another folder.
std::string lasting_cache();
// A desk over it; its worker serves all test cases of this process.
program::CompileService& persistent_compile_service();

// Its package from there, compiled first where it is not there yet: for the first recipe, with full effort. Returns
// its key.
std::string lasting_package(const program::SymbolicProgram& program);

// A folder for one test, with a cache in it that starts empty. One at a time: all have the same cache folder, so that
// one worker serves them.
struct LaneRoom {
  std::filesystem::path path;
  LaneRoom();
  ~LaneRoom();
  LaneRoom(const LaneRoom&) = delete;
  LaneRoom& operator=(const LaneRoom&) = delete;

  static std::string cache();
  // Of all rooms. Whoever compiles with it waits for the outcome: the next room's cache is the same folder.
  static program::CompileService& compile_service();
  // As another process has it. Its worker, if it needs one, is its own and starts with the environment of then.
  static std::unique_ptr<program::CompileService> new_compile_service(
      const program::CompileServiceSettings& settings = compile_service_settings());
  // Puts the program's lasting package into this cache.
  static void stock(const program::SymbolicProgram& program);
  // Names in a folder of the cache.
  static std::vector<std::string> names_in(const std::string& folder);
};

// The model's step as a program; the model is as before.
program::Program program_of(step::Model& model, std::span<const step::Microbatch> batch);

// Compiles the text and returns the package's file in the room.
std::string compile_text(const LaneRoom& room, const std::string& text, const std::string& recipe);
// Puts a package into the room's cache as that of `key`.
void plant(const LaneRoom& room, const std::string& key, const std::string& package);

}  // namespace esper::tests
