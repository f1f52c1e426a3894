#include "engine/bench/peer_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

extern char** environ;

namespace esper::engine::bench {
namespace {

constexpr std::size_t kLongestAnswer = 16u << 20;
constexpr std::size_t kLongestComplaint = 300;

std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string found;
  for (std::string line; std::getline(file, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) found = line;
  }
  return found.substr(0, kLongestComplaint);
}

// Both ends of a two-way channel that no other child of this process inherits.
std::pair<int, int> make_channel() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::runtime_error("no channel to the peer: " + std::generic_category().message(errno));
  }
  return {ends[0], ends[1]};
}

}  // namespace

PeerProcess::PeerProcess(const std::vector<std::string>& command, std::string log) : log_(std::move(log)) {
  const auto [ours, theirs] = make_channel();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, theirs, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int failure = posix_spawn(&child_, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(theirs);
  if (failure != 0) {
    close(ours);
    child_ = -1;
    throw std::runtime_error(command.front() + " does not start: " + std::generic_category().message(failure));
  }
  to_child_ = from_child_ = ours;
}

PeerProcess::~PeerProcess() { kill_group(); }

void PeerProcess::kill_group() {
  if (child_ <= 0) return;
  kill(-child_, SIGKILL);
  waitpid(child_, nullptr, 0);
  close(to_child_);
  child_ = -1;
}

void PeerProcess::give_up(const std::string& why) {
  kill_group();
  const std::string complaint = last_line(log_);
  failure_ = why + (complaint.empty() ? "" : "; its last words: " + complaint);
  throw std::runtime_error(failure_);
}

nlohmann::json PeerProcess::ask(const nlohmann::json& question, std::chrono::milliseconds deadline) {
  if (!failure_.empty()) throw std::runtime_error(failure_);
  const std::string line = question.dump() + "\n";
  const auto until = std::chrono::steady_clock::now() + deadline;
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t part = send(to_child_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (part <= 0) give_up("it has ended");
    sent += static_cast<std::size_t>(part);
  }
  const std::string answer = read_line(until);
  auto parsed = nlohmann::json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) give_up("it answered with something else than JSON: " + answer.substr(0, 60));
  return parsed;
}

std::string PeerProcess::read_line(std::chrono::steady_clock::time_point until) {
  char block[1 << 16];
  while (true) {
    if (const auto end = buffered_.find('\n'); end != std::string::npos) {
      std::string line = buffered_.substr(0, end);
      buffered_.erase(0, end + 1);
      return line;
    }
    if (buffered_.size() > kLongestAnswer) give_up("its answer has no end");
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd waiting{from_child_, POLLIN, 0};
    if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) == 0) give_up("no answer in time");
    const ssize_t got = recv(from_child_, block, sizeof block, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) give_up("it has ended");
    buffered_.append(block, static_cast<std::size_t>(got));
  }
}

}  // namespace esper::engine::bench
