#include "nissa/console_sink.h"

#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>

#include "base/descriptor.h"
#include "base/text/text_outlet.h"
#include "leyline/telemetry/telemetry.h"
#include "nissa/console_text.h"
#include "support/environment_variable.h"
#include "support/patience.h"
#include "support/waits.h"

namespace esper::test::console_sink_test {

using namespace std::chrono_literals;
using namespace esper;
using namespace esper::leyline::literals;
using namespace esper::nissa;
using esper::base::Descriptor;
using leyline::Level;
using leyline::TelemetryPacket;

namespace {

TelemetryPacket epoch_packet() {
  TelemetryPacket packet;
  packet.metrics = {metric("tolaria.training.loss"_metric, 0.43119),
                    metric("tolaria.training.accuracy"_metric, 0.871),
                    metric("tolaria.validation.loss"_metric, 0.3911),
                    metric("tolaria.validation.accuracy"_metric, 0.9005),
                    metric("tolaria.seeds.active"_metric, 2),
                    metric("tolaria.lr_controller.current_lr"_metric, 0.01),
                    metric("tolaria.training.samples_per_s"_metric, 12345.4),
                    metric("tolaria.training.latency_ms"_metric, 1204)};
  packet.events.push_back(
      event("seed_stage"_event, Level::kInfo, {{"seed_id", "seed-0001"}, {"from", "TRAINING"}, {"to", "BLENDING"}}));
  packet.events.push_back(event("tamiyo.decision"_event, Level::kInfo, {{"reason", "growing"}}));
  packet.events.push_back(event("tolaria.checkpoint_failed"_event, Level::kWarning, {{"reason", "disk full\x1b[2J"}}));
  finish_packet(packet, 3);
  return packet;
}

constexpr const char* kEpochText =
    "epoch 3/10  train loss 0.4312 accuracy 87.10%  valid loss 0.3911 accuracy 90.05%  seeds 2  lr 0.01  "
    "12345 samples/s  1.20 s\n"
    "seed_stage seed-0001: TRAINING -> BLENDING\n"
    "warning tolaria.checkpoint_failed  reason disk full\\x1b[2J\n";

// What comes out of a descriptor within a while, until it holds the wanted text.
std::string read_until(int descriptor, const std::string& wanted) {
  std::string out;
  const auto until = std::chrono::steady_clock::now() + test::kPatience;
  while (out.find(wanted) == std::string::npos && std::chrono::steady_clock::now() < until) {
    char block[4096];
    const auto count = read(descriptor, block, sizeof block);
    if (count > 0) {
      out.append(block, static_cast<std::size_t>(count));
    } else {
      std::this_thread::sleep_for(1ms);
    }
  }
  return out;
}

// A terminal of a given width.
struct Terminal {
  explicit Terminal(unsigned short columns) {
    int master_number = 0, slave_number = 0;
    const winsize size{24, columns, 0, 0};
    REQUIRE(openpty(&master_number, &slave_number, nullptr, nullptr, &size) == 0);
    master = Descriptor(master_number);
    slave = Descriptor(slave_number);
    REQUIRE(fcntl(master_number, F_SETFL, O_NONBLOCK) == 0);
  }
  void resize(unsigned short columns) const {
    const winsize size{24, columns, 0, 0};
    REQUIRE(ioctl(master.number(), TIOCSWINSZ, &size) == 0);
  }
  Descriptor master, slave;
};

BarView busy_view() {
  BarView view;
  view.epoch = 3;
  view.epochs = 10;
  view.step = 60;
  view.steps = 120;
  view.phase = leyline::Phase::kTraining;
  view.loss = 0.43119;
  view.accuracy = 0.871;
  view.seconds_left = 83;
  return view;
}

}  // namespace

TEST_CASE("plain output has one line an epoch and one a noteworthy event") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const Descriptor out(ends[0]);
  Descriptor in(ends[1]);
  const auto progress = std::make_shared<leyline::Progress>();
  progress->epochs = 10;
  {
    base::TextOutlet outlet(in.number());
    ConsoleSink sink(progress, outlet, ConsoleStyle::kPlain);
    sink.emit(epoch_packet());
    sink.emit({});  // nothing to say
  }
  in = Descriptor();
  CHECK(read_until(out.number(), "2J\n") == kEpochText);
}

TEST_CASE("an epoch line leaves out what is not known") {
  TelemetryPacket packet;
  CHECK(!epoch_line(packet, 10));
  packet.metrics.push_back(metric("tolaria.training.loss"_metric, 1));
  CHECK(epoch_line(packet, 0) == "epoch ?  train loss 1.0000");
  // Resumed at the very end of an epoch: nothing of it was trained in this process.
  packet.metrics.push_back(metric("tolaria.training.samples_per_s"_metric, 0));
  CHECK(epoch_line(packet, 0) == "epoch ?  train loss 1.0000");
}

TEST_CASE("an event line starts with what it is about, ends with the reason and leaves out what is empty") {
  const auto stage = event("seed_stage"_event, Level::kInfo,
                           {{"seed_id", "seed-0001"},
                            {"slot", "r0c0"},
                            {"blueprint", "conv_heavy"},
                            {"from", "GERMINATED"},
                            {"to", "TRAINING"},
                            {"epoch", "16"},
                            {"reason", "G1 passed"}});
  CHECK(event_line(stage, Colour::kOff) ==
        "seed_stage seed-0001 r0c0 conv_heavy: GERMINATED -> TRAINING  epoch 16  reason G1 passed");
  const auto lane = event("tolaria.lane_adopted"_event, Level::kInfo,
                          {{"lane", "replay"}, {"from", "eager"}, {"step", "5"}, {"reason", "it was asked for"}});
  CHECK(event_line(lane, Colour::kOff) ==
        "tolaria.lane_adopted  lane replay  from eager  step 5  reason it was asked for");
  const auto waiting = event("tolaria.compile_waiting"_event, Level::kInfo,
                             {{"key", "0a"}, {"waits_for", "the compiler"}, {"waited_s", "20"}});
  CHECK(event_line(waiting, Colour::kOff) == "tolaria.compile_waiting  waits_for the compiler  waited_s 20  key 0a");
  const auto start = event("tolaria.run_started"_event, Level::kInfo,
                           {{"run_dir", "runs/a"}, {"device", "cpu"}, {"name", "a"}, {"version", ""}});
  CHECK(event_line(start, Colour::kOff) == "tolaria.run_started  run_dir runs/a  name a  device cpu");
}

TEST_CASE("colours are used only where asked for") {
  const auto warning = event("tolaria.save_paused"_event, Level::kWarning);
  CHECK(event_line(warning, Colour::kOff) == "warning tolaria.save_paused");
  CHECK(event_line(warning, Colour::kOn) == "\x1b[33mwarning\x1b[0m tolaria.save_paused");
  CHECK(!event_line(event("tamiyo.decision"_event, Level::kInfo), Colour::kOff));
}

TEST_CASE("the bar fills the terminal's width and sheds what matters least") {
  CHECK(bar_line(busy_view(), 100, Colour::kOff) ==
        "epoch 3/10 [===============               ] step 60/120  eta 1:23  loss 0.4312  accuracy 87.10%");
  CHECK(bar_line(busy_view(), 80, Colour::kOff) ==
        "epoch 3/10 [=======       ] step 60/120  eta 1:23  loss 0.4312  accuracy 87.10%");
  CHECK(bar_line(busy_view(), 40, Colour::kOff) == "epoch 3/10 step 60/120  eta 1:23");
  CHECK(bar_line(busy_view(), 8, Colour::kOff) == "epoch 3");
  CHECK(bar_line({}, 40, Colour::kOff) == "[                            ] starting");
  for (int columns = 0; columns < 120; ++columns) {
    CHECK(static_cast<int>(bar_line(busy_view(), columns, Colour::kOff).size()) <= std::max(columns - 1, 0));
  }
}

TEST_CASE("where steps are not known the bar shows the epochs") {
  auto view = busy_view();
  view.steps = 0;
  CHECK(bar_line(view, 200, Colour::kOff).starts_with("epoch 3/10 [======                        ] training  eta"));
}

TEST_CASE("the share of the run counts whole epochs and the steps of this one") {
  auto view = busy_view();
  CHECK(done_fraction(view) == 0.25);
  view.steps = 0;
  CHECK(done_fraction(view) == 0.2);
  view.phase = leyline::Phase::kDone;
  CHECK(done_fraction(view) == 1);
  CHECK(done_fraction({}) == 0);
}

TEST_CASE("a terminal gets a bar that follows progress and width, and its line back") {
  const Terminal terminal(100);
  const test::EnvironmentVariable plain("NO_COLOR", "1");
  const auto progress = std::make_shared<leyline::Progress>();
  progress->epochs = 10;
  progress->epoch = 3;
  progress->steps = 120;
  progress->phase = leyline::Phase::kTraining;
  {
    base::TextOutlet outlet(terminal.slave.number());
    ConsoleSink sink(progress, outlet, ConsoleStyle::kBar);
    CHECK(read_until(terminal.master.number(), "step 0/120").find("\r\x1b[Kepoch 3/10 [") == 0);
    sink.emit(epoch_packet());
    const auto text = read_until(terminal.master.number(), "2J\r\n");
    CHECK(text.find("\r\x1b[Kepoch 3/10  train loss 0.4312") != std::string::npos);
    CHECK(text.find("\x1b[3") == std::string::npos);  // no colour
    progress->epoch = 4;
    progress->step = 60;
    const auto next = read_until(terminal.master.number(), "accuracy 87.10%");
    CHECK(next.find("epoch 4/10 [") != std::string::npos);
    CHECK(next.find("step 60/120  eta 0:0") != std::string::npos);
    terminal.resize(30);
    CHECK(read_until(terminal.master.number(), "\r\x1b[Kepoch 4/10 step 60/120").size() < 300);
  }
  const auto end = read_until(terminal.master.number(), "\r\x1b[K");
  CHECK(end.substr(end.size() - 4) == "\r\x1b[K");
}

TEST_CASE("the bar of an epoch is not drawn below that epoch's line") {
  const Terminal terminal(100);
  const auto progress = std::make_shared<leyline::Progress>();
  progress->epochs = 10;
  progress->epoch = 3;
  progress->phase = leyline::Phase::kValidating;
  {
    base::TextOutlet outlet(terminal.slave.number());
    ConsoleSink sink(progress, outlet, ConsoleStyle::kBar);
    read_until(terminal.master.number(), "epoch 3/10 [");  // it is drawn, and its line comes after it
    sink.emit(epoch_packet());
    std::this_thread::sleep_for(300ms);  // gives redraws, one in 100 ms, the time to go wrong; fewer prove less
  }
  const auto text = read_until(terminal.master.number(), "2J\r\n");
  CHECK(text.find("train loss 0.4312") != std::string::npos);
  CHECK(text.substr(text.find("train loss 0.4312")).find("epoch 3/10 [") == std::string::npos);
}

TEST_CASE("a console that nobody reads costs a packet its deadline once, then none") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const Descriptor out(ends[0]), in(ends[1]);
  REQUIRE(fcntl(in.number(), F_SETPIPE_SZ, 4096) > 0);
  base::TextOutlet outlet(in.number(), 20ms);
  ConsoleSink sink(std::make_shared<leyline::Progress>(), outlet, ConsoleStyle::kPlain);
  TelemetryPacket packet;
  packet.events.push_back(
      event("tolaria.checkpoint_failed"_event, Level::kWarning, {{"reason", std::string(3000, 'x')}}));
  sink.emit(packet);
  CHECK_THROWS_AS(sink.emit(packet), std::system_error);
  const long waits = test::waits_of([&] {
    for (int i = 0; i < 1000; ++i) CHECK_THROWS_AS(sink.emit(packet), std::system_error);
  });
  CHECK(waits < 500);
}

TEST_CASE("a bar is drawn only on a terminal that can") {
  const Terminal terminal(80);
  {
    const test::EnvironmentVariable dumb("TERM", "dumb");
    CHECK(console_style(terminal.slave.number()) == ConsoleStyle::kPlain);
  }
  const test::EnvironmentVariable able("TERM", "xterm");
  CHECK(console_style(terminal.slave.number()) == ConsoleStyle::kBar);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const Descriptor out(ends[0]), in(ends[1]);
  CHECK(console_style(in.number()) == ConsoleStyle::kPlain);
}

}  // namespace esper::test::console_sink_test
