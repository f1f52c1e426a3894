// Hours of use in short: jobs that come, pause and go, clients that come and go, and memory and descriptors that do not
// grow. ESPER_SOAK_MINUTES=20 for the long one.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>

#include "http/event_reader.h"
#include "stub_daemon.h"

namespace esper::test::soak_test {

using namespace esper::test;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

Clock::duration soak_time() {
  const char* minutes = std::getenv("ESPER_SOAK_MINUTES");
  return minutes == nullptr ? Clock::duration(15s)
                            : std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double, std::ratio<60>>(std::atof(minutes)));
}

struct Sample {
  double minute = 0, resident_kib = 0, descriptors = 0;
};

double resident_kib(pid_t process) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == "VmRSS:" && status >> kib) return kib;
  }
  return 0;
}

double descriptors_of(pid_t process) {
  const std::filesystem::directory_iterator files(fmt::format("/proc/{}/fd", process)), none;
  return static_cast<double>(std::distance(files, none));
}

// Of the least squares line, a minute.
double slope(const std::vector<Sample>& samples, double Sample::* value) {
  double minutes = 0, values = 0;
  for (const Sample& sample : samples) {
    minutes += sample.minute;
    values += sample.*value;
  }
  minutes /= static_cast<double>(samples.size());
  values /= static_cast<double>(samples.size());
  double above = 0, below = 0;
  for (const Sample& sample : samples) {
    above += (sample.minute - minutes) * (sample.*value - values);
    below += (sample.minute - minutes) * (sample.minute - minutes);
  }
  return above / below;
}

double median(std::vector<Sample> samples, double Sample::* value) {
  std::ranges::sort(samples, {}, [&](const Sample& sample) { return sample.*value; });
  return samples[samples.size() / 2].*value;
}

// What clients do, at random.
class Clients {
 public:
  explicit Clients(StubDaemon& daemon) : daemon_(daemon) {}

  void act() {
    const unsigned choice = random_() % 10;
    if (choice < 4) {
      const StubJob job{fmt::format("soak{}", actions), 0.02 * (random_() % 5)};
      last_ = daemon_.submit(job, {{"hold", random_() % 4 == 0}});
    } else if (choice < 8 && last_ > 0) {
      static const Words kActions{"cancel", "pause", "resume", "retry"};
      const auto job = std::max<int>(1, last_ - static_cast<int>(random_() % 5));
      daemon_.ask("POST", fmt::format("/v1/jobs/{}/{}", job, kActions[choice - 4]));
    } else if (choice == 8) {
      daemon_.ask("GET", "/v1/jobs?limit=50");
    } else {
      stream();
    }
    ++actions;
  }

  int actions = 0;

 private:
  // Up to five are open; the oldest goes where one more comes.
  void stream() {
    const esper::http::UnixEndpoint endpoint{esper::jobs::socket_of(daemon_.options.state_dir)};
    auto opened = esper::http::EventReader::open(endpoint, "/v1/events", 30s);
    REQUIRE(opened);
    streams_.push_back(std::move(*opened));
    if (streams_.size() > 5) streams_.erase(streams_.begin());
  }

  StubDaemon& daemon_;
  std::mt19937 random_{1};
  int last_ = 0;
  std::vector<esper::http::EventReader> streams_;
};

}  // namespace

TEST_CASE("in long use neither memory nor descriptors grow") {
  StubDaemon daemon;
  daemon.start();
  const double before = descriptors_of(daemon.process());
  std::vector<Sample> samples;
  const auto begin = Clock::now();
  int actions = 0;
  {
    Clients clients(daemon);
    for (auto next = begin; Clock::now() - begin < soak_time(); next += 100ms) {
      for (int action = 0; action < 2; ++action) clients.act();
      samples.push_back({std::chrono::duration<double, std::ratio<60>>(Clock::now() - begin).count(),
                         resident_kib(daemon.process()), descriptors_of(daemon.process())});
      if (const auto left = next + 100ms - Clock::now(); left > 0s) ::usleep(static_cast<useconds_t>(left / 1us));
    }
    actions = clients.actions;
  }
  // The first quarter fills caches.
  const auto quarter = static_cast<std::ptrdiff_t>(samples.size() / 4);
  const std::vector<Sample> settled(samples.begin() + quarter, samples.end());
  const std::vector<Sample> second(samples.begin() + quarter, samples.begin() + 2 * quarter),
      last(samples.end() - quarter, samples.end());
  const double grown = median(last, &Sample::resident_kib) - median(second, &Sample::resident_kib);
  std::cout << fmt::format(
      "soak: {:.1f} minutes, {} requests; resident {:.0f} KiB, {:+.1f} KiB a minute, {:+.0f} KiB from the second "
      "quarter to "
      "the last; descriptors {:.0f} to {:.0f}, {:+.3f} a minute\n",
      samples.back().minute, actions, samples.back().resident_kib, slope(settled, &Sample::resident_kib), grown, before,
      samples.back().descriptors, slope(settled, &Sample::descriptors));
#ifndef __SANITIZE_ADDRESS__  // it keeps freed memory for a while
  CHECK(grown < 1024);
#endif
  REQUIRE(comes_true([&] {
    const auto jobs = nlohmann::json::parse(daemon.ask("GET", "/v1/jobs?state=queued,starting,running,stopping")->body);
    return jobs["jobs"].empty();
  }));
  CHECK(comes_true([&] { return descriptors_of(daemon.process()) <= before; }));
}

}  // namespace esper::test::soak_test
