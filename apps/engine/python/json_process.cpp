#include "engine/python/json_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "base/clock.h"
#include "engine/python/python_start.h"

namespace esper::engine {
namespace {

constexpr base::Duration kLongestEnd = std::chrono::seconds(5);
constexpr std::size_t kLongestComplaint = 300;

std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string found;
  for (std::string line; std::getline(file, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) found = line;
  }
  return found.substr(0, kLongestComplaint);
}

}  // namespace

JsonProcess::JsonProcess(const std::vector<std::string>& command, std::string log, base::Descriptor theirs)
    : channel_(theirs), log_(std::move(log)) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs.number(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, theirs.number(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addchdir_np(&actions, kNeutralFolder);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  PythonEnvironment environment;
  const int failure =
      posix_spawn(&child_, arguments[0], &actions, &attributes, arguments.data(), environment.pointers());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    child_ = -1;
    throw std::runtime_error(command.front() + " does not start: " + std::generic_category().message(failure));
  }
}

JsonProcess::JsonProcess(const std::vector<std::string>& command, std::string log)
    : JsonProcess(command, std::move(log), base::Descriptor()) {}

void JsonProcess::end() {
  if (child_ <= 0) return;
  base::end_group(child_, kLongestEnd);
  channel_.close();
  child_ = -1;
}

void JsonProcess::give_up(const std::string& why) {
  end();
  const std::string complaint = last_line(log_);
  failure_ = why + (complaint.empty() ? "" : "; last output: " + complaint);
  throw std::runtime_error(failure_);
}

nlohmann::json JsonProcess::ask(const nlohmann::json& question, std::chrono::milliseconds deadline) {
  using base::LineChannel;
  if (!failure_.empty()) throw std::runtime_error(failure_);
  const base::Clock clock;
  const auto until = clock.now() + deadline;
  const auto sent = channel_.send(question.dump(), deadline);
  if (sent == LineChannel::Send::kTimeout) give_up("it does not read its request");
  // One that has ended may have answered before.
  std::string answer;
  const auto read = channel_.read_line(answer, until - clock.now());
  if (read == LineChannel::Read::kTimeout) give_up("timed out");
  if (read != LineChannel::Read::kLine) give_up("it has exited");
  auto parsed = nlohmann::json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) give_up("its answer is not JSON: " + answer.substr(0, 60));
  return parsed;
}

}  // namespace esper::engine
