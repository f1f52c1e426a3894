#include "data/process/sample_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/text/child_process.h"
#include "base/text/joined.h"
#include "base/text/printable.h"

namespace esper::data {
namespace {

using base::Duration;
using std::chrono::milliseconds;

constexpr Duration kLongestEnd = std::chrono::seconds(5);
constexpr Duration kGlance = milliseconds(50);  // how often a wait looks for an interrupt

struct Pipe {
  base::Descriptor read, write;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  constexpr int kRoom = 1 << 20;
  ::fcntl(ends[0], F_SETPIPE_SZ, kRoom);  // a smaller one is slower, no more
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {base::Descriptor(ends[0]), base::Descriptor(ends[1])};
}

std::string_view text_of(std::span<const char> bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace

SampleProcess::SampleProcess(SampleProcessSettings settings) : settings_(std::move(settings)) { start(); }

void SampleProcess::start() {
  try {
    base::Descriptor theirs;
    requests_ = std::make_unique<base::LineChannel>(theirs);
    auto pipe = make_pipe();
    child_ = base::start_child(
        {.command = settings_.command,
         .files = {
             {STDIN_FILENO, theirs.number()}, {STDOUT_FILENO, pipe.write.number()}, {STDERR_FILENO, STDERR_FILENO}}});
    frames_ = std::move(pipe.read);
  } catch (const std::system_error& error) {
    lose(error.what());
  }
  const Wait wait{clock_.now() + settings_.start_deadline,
                  fmt::format("it does not send its first frame within {} s; what takes longer can be done when the "
                              "first batch is asked for, within safety.data_deadline",
                              std::chrono::duration<double>(settings_.start_deadline).count())};
  const nlohmann::json line{{"version", 1},
                            {"part", settings_.part},
                            {"task", std::string(base::name_of(settings_.task))},
                            {"batch_size", settings_.batch_size},
                            {"seed", settings_.seed}};
  send(line.dump(), wait.until);
  const auto prefix = read_prefix(wait);
  auto layout = parse_layout(read_header(prefix, wait), settings_.task);
  if (!layout) lose(layout.error());
  if (prefix.content != 0) lose("its first frame has content");
  layout_ = *std::move(layout);
}

void SampleProcess::ensure_running() {
  interrupted_ = false;
  if (child_ >= 0) return;
  const auto before = layout_;
  start();
  if (layout_ != before) lose("it was started again, and its samples are different now");
}

std::string SampleProcess::end() {
  if (child_ < 0) return "";
  auto how = base::end_group(std::exchange(child_, -1), kLongestEnd);
  requests_.reset();
  frames_.reset();
  return how;
}

void SampleProcess::lose(const std::string& reason) {
  const auto how = end();
  const auto command = base::printable_line(base::joined(settings_.command, " "));
  throw base::Error(base::ExitCode::kData,
                    fmt::format("data.command: {} ({}): {}{}", base::shortened(command, 200), settings_.part, reason,
                                how.empty() ? "" : "; its process: " + how));
}

std::string SampleProcess::place(const BatchRequest& request) const {
  return fmt::format("batch {} of epoch {}", request.index, request.epoch);
}

void SampleProcess::send(const std::string& line, Duration until) {
  using Send = base::LineChannel::Send;
  const auto sent = requests_->send(line, until - clock_.now());
  if (sent == Send::kTimeout) lose("it does not read its standard input");
  if (sent == Send::kEnd) lose("it has ended, or closed its standard input");
}

void SampleProcess::receive(std::span<char> into, const Wait& wait) {
  while (!into.empty()) {
    const auto got = ::read(frames_.number(), into.data(), into.size());
    if (got > 0) {
      into = into.subspan(static_cast<std::size_t>(got));
      continue;
    }
    if (got == 0) lose("it has ended, or closed its standard output");
    if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) lose("its standard output cannot be read");
    if (interrupted_ || base::Interrupt::requested() != 0) lose("it was no longer needed");
    const auto left = wait.until - clock_.now();
    if (left <= Duration(0)) lose(wait.late);
    pollfd ready{frames_.number(), POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>(std::chrono::ceil<milliseconds>(std::min(left, kGlance)).count()));
  }
}

FramePrefix SampleProcess::read_prefix(const Wait& wait) {
  char bytes[kFramePrefix];
  const std::span all(bytes);
  // A line that the program prints may be shorter than a prefix.
  receive(all.first(kFrameMagic.size()), wait);
  if (text_of(all.first(kFrameMagic.size())) != kFrameMagic) {
    lose("it sent something that is not a frame, which begins with " +
         base::in_quotes(text_of(all.first(kFrameMagic.size()))));
  }
  receive(all.subspan(kFrameMagic.size()), wait);
  const auto prefix = parse_prefix(text_of(all));
  if (!prefix) lose(prefix.error());
  return *prefix;
}

std::string SampleProcess::read_header(const FramePrefix& prefix, const Wait& wait) {
  std::string header(prefix.header, '\0');
  receive(header, wait);
  return header;
}

// What it sends without being asked would be taken for the answer.
void SampleProcess::require_silence() {
  pollfd ready{frames_.number(), POLLIN, 0};
  if (::poll(&ready, 1, 0) > 0 && (ready.revents & POLLIN) != 0) lose("it sent more than it was asked for");
}

void SampleProcess::fetch(const BatchRequest& request, std::span<char> inputs, std::span<char> targets,
                          Duration deadline) {
  if (child_ < 0) lose("it has ended");
  const Wait wait{clock_.now() + deadline, "it does not answer in time (safety.data_deadline)"};
  require_silence();
  const nlohmann::json line{
      {"epoch", request.epoch}, {"index", request.index}, {"first", request.first}, {"size", request.size}};
  send(line.dump(), wait.until);
  const auto prefix = read_prefix(wait);
  const auto text = read_header(prefix, wait);
  const auto document = base::parse_json(text, kLongestFrameHeader);
  if (!document) lose(place(request) + ": " + document.error());
  const auto header = base::from_json<BatchHeader>(*document);
  if (!header) lose(place(request) + ": " + header.error());
  if (!header->error.empty()) lose(place(request) + ": " + program_error(header->error));
  if (header->epoch != request.epoch || header->index != request.index || header->size != request.size) {
    lose(fmt::format("{}: it sent batch {} of epoch {}, of {} samples, for {} samples of this one", place(request),
                     header->index, header->epoch, header->size, request.size));
  }
  if (prefix.content != inputs.size() + targets.size()) {
    lose(fmt::format("{}: it sent {} bytes, and {} samples have {}", place(request), prefix.content, request.size,
                     inputs.size() + targets.size()));
  }
  receive(inputs, wait);
  receive(targets, wait);
  const auto problem = batch_problem(layout_, settings_.task, text_of(inputs), text_of(targets));
  if (!problem.empty()) lose(place(request) + ": " + problem);
}

}  // namespace esper::data
