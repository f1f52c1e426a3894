#include "engine/trusted_programs.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

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
using Command = std::vector<std::string>;

constexpr std::uint64_t kMaxRecord = 1 << 20;

// Each text with its length, so that two commands never have the same record; the bytes as they are.
std::string record_of(const Command& command) {
  std::string record;
  const auto add = [&record](const std::string& text) { record += fmt::format("{}:{}\n", text.size(), text); };
  add(std::filesystem::current_path().string());
  for (const auto& word : command) add(word);
  return record;
}

// "policies" in this user's state folder: a file for each program, named after its record's hash and holding the
// record. Another record with the same hash takes its place.
struct Records {
  std::string folder;
  storage::ConfinedFileSystem files;

  std::string path_of(const std::string& record) const { return folder + "/" + base::hash_text(base::fnv1a(record)); }
  bool has(const std::string& record) {
    const std::string path = path_of(record);
    if (files.kind_of(path) == base::PathKind::kNothing) return false;
    return std::ranges::equal(storage::read_file(files, path, kMaxRecord), storage::bytes_of(record));
  }
};

Records open_records() {
  const std::string state = program::esper_folder("XDG_STATE_HOME", "/.local/state");
  if (state.empty()) throw std::runtime_error("HOME is not set, or not an absolute path");
  const auto folder = program::private_folder(state + "/policies");
  if (!folder) throw std::runtime_error(folder.error());
  return {*folder, storage::ConfinedFileSystem(*folder, storage::Owner::kThisUser)};
}

// Runs `work`; a problem is a warning, `what` and the problem.
template <class Work>
void try_records(const char* what, const Work& work) {
  try {
    work();
  } catch (const storage::UnsafePath& error) {
    nissa::log::warning(fmt::format("{}: {}; remove it", what, error.problem()));
  } catch (const std::exception& error) {
    nissa::log::warning(fmt::format("{}: {}", what, error.what()));
  }
}

std::set<Command>& trusted_here() {
  static std::set<Command> trusted;
  return trusted;
}

}  // namespace

void trust_program(const Command& command) {
  if (command.empty() || !trusted_here().insert(command).second) return;
  try_records("a program could not be recorded as trusted, so a resumed run needs --trust-program", [&] {
    Records records = open_records();
    const std::string record = record_of(command);
    storage::publish_file(records.files, records.path_of(record), storage::bytes_of(record));
  });
}

void require_trusted(const Command& command, const std::string& field) {
  if (trusted_here().contains(command)) return;
  bool is_recorded = false;
  try_records("the record of programs that you trust cannot be read",
              [&] { is_recorded = open_records().has(record_of(command)); });
  if (is_recorded) return;
  throw Error(
      ExitCode::kPolicy,
      fmt::format(
          "{}: the run folder names the program {}, which you have not named in a run file of your own, in this "
          "folder; read it, and if you trust it add --trust-program, or train with a run file of your own first",
          field, nlohmann::json(command).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)));
}

}  // namespace esper::engine
