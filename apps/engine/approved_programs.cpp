#include "engine/approved_programs.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "base/hash.h"
#include "nissa/log.h"
#include "program/cache/cache_folder.h"
#include "storage/atomic_publish.h"
#include "storage/bytes.h"
#include "storage/confined_file_system.h"
#include "storage/file_tools.h"

namespace esper::engine {
namespace {

using base::Error;
using base::ExitCode;
using nlohmann::json;

constexpr std::uint64_t kMaxNote = 1 << 20;

std::string text_of(const json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
}

// One program: its arguments, and the folder in which it was started.
std::string note_of(const config::RunConfig& config) {
  return text_of({{"command", config.policy.command}, {"folder", std::filesystem::current_path().string()}});
}

// "policies" in this user's state folder. A file for each program, named after a hash of the note that it holds:
// another note with the same hash takes its place.
struct Notes {
  std::string folder;
  storage::ConfinedFileSystem files;

  std::string path_of(const std::string& note) const { return folder + "/" + base::hash_text(base::fnv1a(note)); }
  bool has(const std::string& note) {
    const std::string path = path_of(note);
    if (files.kind_of(path) != base::PathKind::kFile) return false;
    const auto held = storage::read_file(files, path, kMaxNote);
    const auto wanted = storage::bytes_of(note);
    return std::equal(held.begin(), held.end(), wanted.begin(), wanted.end());
  }
  void add(const std::string& note) {
    if (!has(note)) storage::publish_file(files, path_of(note), storage::bytes_of(note));
  }
};

Notes open_notes() {
  const std::string state = program::esper_folder("XDG_STATE_HOME", "/.local/state");
  if (state.empty()) throw std::runtime_error("HOME is not set");
  const auto folder = program::private_folder(state + "/policies");
  if (!folder) throw std::runtime_error(folder.error());
  return {*folder, storage::ConfinedFileSystem(*folder, storage::Owner::kThisUser)};
}

bool is_noted(const std::string& note) {
  try {
    return open_notes().has(note);
  } catch (const std::exception& error) {
    nissa::log::warning(fmt::format("the programs that you approved cannot be read: {}", error.what()));
    return false;
  }
}

void add_note(const std::string& note) {
  try {
    open_notes().add(note);
  } catch (const std::exception& error) {
    nissa::log::warning(
        fmt::format("policy.command: the program could not be noted as approved, so that a resumed run "
                    "needs --trust-program: {}",
                    error.what()));
  }
}

}  // namespace

void approve_program(const config::RunConfig& config, bool is_trusted) {
  if (!config.policy.asks(config::PolicyKind::kProcess)) return;
  const std::string note = note_of(config);
  if (is_trusted) return add_note(note);
  if (is_noted(note)) return;
  throw Error(
      ExitCode::kPolicy,
      fmt::format("policy.command: the run folder has the program {} started as its policy, which you have not run "
                  "in this folder by a run file of your own; read it, and add --trust-program if you trust it",
                  text_of(config.policy.command)));
}

}  // namespace esper::engine
