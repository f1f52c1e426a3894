#pragma once
// A program of the user's that produces the samples of one part, as a child process: it is asked for each batch by
// (epoch, index) on its standard input and answers with a frame on its standard output (docs/data.md). Its process
// group ends with this object, and it itself with the thread that started it. One thread at a time, interrupt() apart.

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/text/line_channel.h"
#include "data/process/sample_frame.h"

namespace esper::data {

// The part as the program knows it.
inline constexpr char kTrainPart[] = "train", kValidationPart[] = "validation";

struct SampleProcessSettings {
  std::vector<std::string> command;  // program and arguments
  std::string part;
  config::Task task = config::Task::kClassification;
  std::int64_t batch_size = 1;
  std::uint64_t seed = 0;
  base::Duration start_deadline = std::chrono::seconds(60);  // until its first frame
};

struct BatchRequest {
  std::int64_t epoch = 0, index = 0, first = 0, size = 0;  // first: of the batch's first sample in the epoch
};

class SampleProcess {
 public:
  // Starts it and reads its first frame. Throws Error{kData} naming command and part.
  explicit SampleProcess(SampleProcessSettings settings);
  ~SampleProcess() { end(); }
  SampleProcess(const SampleProcess&) = delete;
  SampleProcess& operator=(const SampleProcess&) = delete;

  const SampleLayout& layout() const { return layout_; }

  // Starts it again where it has ended, and lifts an interrupt. Throws Error{kData}, also where its samples are others
  // now. Call it on a thread that lives as long as batches are fetched.
  void ensure_running();

  // One batch into memory of exactly its size. Throws Error{kData} where the program ends, does not answer in time, or
  // sends what it must not, or a signal asks for a stop (base::Interrupt) while it is waited for; it is killed then,
  // and each fetch fails until it runs again.
  void fetch(const BatchRequest& request, std::span<char> inputs, std::span<char> targets, base::Duration deadline);

  // A fetch that waits ends soon, and the next ones fail. Any thread.
  void interrupt() { interrupted_ = true; }

 private:
  struct Wait {
    base::Duration until;
    std::string late;  // what is wrong where nothing came until then
  };

  void start();
  std::string end();
  [[noreturn]] void lose(const std::string& reason);
  void send(const std::string& line, base::Duration until);
  void receive(std::span<char> into, const Wait& wait);
  FramePrefix read_prefix(const Wait& wait);
  std::string read_header(const FramePrefix& prefix, const Wait& wait);
  void require_silence();
  std::string place(const BatchRequest& request) const;

  const SampleProcessSettings settings_;
  const base::Clock clock_;
  std::unique_ptr<base::LineChannel> requests_;
  base::Descriptor frames_;
  pid_t child_ = -1;
  SampleLayout layout_;
  std::atomic<bool> interrupted_{false};
};

}  // namespace esper::data
