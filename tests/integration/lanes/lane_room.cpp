#include "integration/lanes/lane_room.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <utility>

#include "device/rng.h"
#include "lanes/lane/step_external_tensors.h"
#include "program/cache/user_key.h"
#include "program/compile/worker_source.h"
#include "program/python_text.h"
#include "storage/checksum.h"
#include "storage/real_file_system.h"
#include "support/compiler_headers.h"
#include "support/patience.h"

namespace esper::tests {
namespace fs = std::filesystem;

// The key of this build's tests, not the user's own; and folders that a cache may have, whatever the umask.
[[maybe_unused]] const int state_is_set = ::setenv("XDG_STATE_HOME", ESPER_BINARY_DIR "/test-state", 1);
[[maybe_unused]] const mode_t umask_before = ::umask(077);

namespace {

// The compiler's headers are made once for all programs of tests.
std::string headers_folder() {
  const fs::path headers = test::shared_worker_folder();
  fs::create_directories(headers);
  return headers;
}

}  // namespace

program::CompileServiceSettings compile_service_settings() {
  program::CompileServiceSettings settings;
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
  fs::create_directories(own / "programs");
  return own / "programs";
}

program::CompileService& persistent_compile_service() {
  static program::CompileService compile_service(compile_service_settings(), {lasting_cache(), headers_folder()});
  return compile_service;
}

std::string lasting_package(const program::SymbolicProgram& program) {
  auto& compile_service = persistent_compile_service();
  const std::string recipe = compile_service.recipes(program).front(), key = compile_service.key(program, recipe);
  if (!compile_service.cache().find(key)) {
    compile_service.submit(program, recipe, program::CompileEffort::kFull);
    const auto outcome = compile_service.wait(key);
    REQUIRE(outcome);
    INFO(outcome->reason);
    REQUIRE_FALSE(outcome->failure);
  }
  return key;
}

namespace {

// What the rooms of this process share.
class AllRooms {
 public:
  AllRooms() {
    std::string name = ESPER_BINARY_DIR "/lane_rooms_XXXXXX";  // on the disk where the lasting cache is
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
    fs::create_directories(cache());
    fs::permissions(cache(), fs::perms::owner_all);
  }
  ~AllRooms() {
    compile_service_.reset();
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  AllRooms(const AllRooms&) = delete;

  fs::path path(int room) const { return path_ / std::to_string(room); }
  fs::path cache() const { return path_ / "programs"; }
  void empty_cache() const {
    for (const char* folder : {"entries", "used", "choices", "quarantine"}) fs::remove_all(cache() / folder);
  }
  program::CompileService& compile_service() {
    if (!compile_service_) compile_service_ = LaneRoom::new_compile_service();
    return *compile_service_;
  }
  int rooms = 0;
  bool occupied = false;

 private:
  fs::path path_;
  std::unique_ptr<program::CompileService> compile_service_;
};

AllRooms& all_rooms() {
  static AllRooms rooms;
  return rooms;
}

}  // namespace

LaneRoom::LaneRoom() : path(all_rooms().path(++all_rooms().rooms)) {
  REQUIRE_FALSE(std::exchange(all_rooms().occupied, true));
  all_rooms().empty_cache();
  fs::create_directories(path);
}

LaneRoom::~LaneRoom() {
  all_rooms().occupied = false;
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

std::string LaneRoom::cache() { return all_rooms().cache(); }
program::CompileService& LaneRoom::compile_service() { return all_rooms().compile_service(); }

std::unique_ptr<program::CompileService> LaneRoom::new_compile_service(
    const program::CompileServiceSettings& settings) {
  return std::make_unique<program::CompileService>(settings, program::CompileFolders{cache(), headers_folder()});
}

void LaneRoom::stock(const program::SymbolicProgram& program) {
  const std::string key = lasting_package(program);
  fs::create_directories(cache() + "/entries");
  fs::copy_file(lasting_cache() + "/entries/" + key, cache() + "/entries/" + key);
}

std::vector<std::string> LaneRoom::names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::path(cache()) / folder, ignored)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

program::Program program_of(step::Model& model, std::span<const step::Microbatch> batch) {
  const lanes::StepSnapshot start(model, torch::kCPU);
  const auto forward = step::training_forward(model.network);
  const auto step = [&] { step::train_step(model.state, model.settings, batch, forward); };
  step();
  auto recorded = program::record(lanes::step_external_tensors(model, batch), step);
  start.restore();
  if (!recorded) FAIL(recorded.error());
  return *recorded;
}

namespace {

program::CacheSettings settings_of(const std::string& folder) {
  program::CacheSettings settings;
  settings.folder = folder;
  const auto key = program::user_key();
  REQUIRE(key);
  settings.mac_key = *key;
  return settings;
}

}  // namespace

std::string compile_text(const LaneRoom& room, const std::string& text, const std::string& recipe) {
  static program::PackageCache cache(storage::real_file_system(), settings_of(lasting_cache()));
  static program::Compiler compiler(
      [] {
        program::CompilerSettings settings;
        settings.python = test::python_path();
        settings.torch_version = ESPER_LIBTORCH;
        settings.headers_dir = headers_folder();
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
    const auto outcome = compiler.wait(request.key, test::kLongPatience);
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
  program::PackageCache cache(storage::real_file_system(), settings_of(room.cache()));
  const auto outcome = cache.insert(key, package, {"default", "full", ESPER_LIBTORCH, "g++", 1000, ""});
  INFO(outcome.reason);
  REQUIRE_FALSE(outcome.failure);
  REQUIRE(cache.find(key));
}

}  // namespace esper::tests
