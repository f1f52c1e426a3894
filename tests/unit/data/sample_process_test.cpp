// Programs that produce samples: the one of data/examples, and ones that go wrong in its place.

#include "data/process/sample_process.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <thread>
#include <utility>

#include "base/interrupt.h"
#include "data/loading/loader.h"
#include "support/loader_epoch.h"
#include "support/patience.h"
#include "unit/data/test_files.h"

namespace esper::data::test::sample_process_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using config::DataConfig;
using config::DataKind;
using config::Task;

using Command = std::vector<std::string>;

constexpr char kExamples[] = ESPER_SOURCE_DIR "/data/examples/process";

Command example() { return {"python3", "-B", fmt::format("{}/samples.py", kExamples)}; }

// `body` runs in place of the answer to each request, `asked`; `layout` changes what the first frame says.
Command going_wrong(const std::string& body, const std::string& layout = "pass") {
  return {"python3", "-B", "-c",
          fmt::format("import sys; sys.path.insert(0, '{}')\n"
                      "import json, os, signal, struct, time\n"
                      "from samples import Samples, send\n"
                      "start = json.loads(sys.stdin.readline())\n"
                      "samples = Samples(start['part'], start['seed'])\n"
                      "first = samples.layout()\n"
                      "{}\n"
                      "send(first)\n"
                      "for line in sys.stdin:\n"
                      "    asked = json.loads(line)\n"
                      "    content = samples.batch(asked['epoch'], asked['first'], asked['size'])\n"
                      "    {}\n",
                      kExamples, layout, body)};
}

DataConfig config_of(Command command) {
  DataConfig config;
  config.kind = DataKind::kProcess;
  config.command = std::move(command);
  config.batch_size = 48;
  return config;
}

Splits load(const Command& command, Task task = Task::kClassification) {
  return load_dataset(config_of(command), TestPart::kUnread, task);
}

LoaderConfig loading(int workers = 1) {
  LoaderConfig config;
  config.batch_size = 48;
  config.workers = workers;
  config.deadline = esper::test::kPatience;
  return config;
}

// What the first batch of such a program fails with.
std::string failure(const Command& command, std::chrono::nanoseconds deadline = esper::test::kPatience) {
  const auto splits = load(command);
  auto config = loading();
  config.deadline = deadline;
  Loader loader(splits.train, {}, config);
  const auto error = error_of([&] { loader.next(); });
  CHECK(error.code() == base::ExitCode::kData);
  return error.what();
}

std::string refusal(const std::string& layout) {
  const auto error = error_of([&] { load(going_wrong("pass", layout)); });
  CHECK(error.code() == base::ExitCode::kData);
  return error.what();
}

TEST_CASE("process: a program gives batches, epoch after epoch") {
  const auto splits = load(example());
  CHECK(splits.train.shape == leyline::features_shape(2, 2));
  CHECK(splits.train.class_names == std::vector<std::string>{"left", "right"});
  CHECK(num_samples(splits.train) == 256);
  CHECK(num_samples(splits.validation) == 64);
  CHECK(splits.standardization == Standardization{});
  Loader loader(splits.train, {}, loading());
  CHECK(loader.num_batches() == 6);
  std::vector<Batch> batches;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (auto& batch : esper::test::rest_of_epoch(loader)) batches.push_back(std::move(batch));
  }
  REQUIRE(batches.size() == 12);
  CHECK(batches[5].size == 16);
  CHECK(batches[6].epoch == 1);
  CHECK(batches[0].inputs.sizes() == std::vector<std::int64_t>{48, 2});
  CHECK(!torch::equal(batches[0].inputs, batches[6].inputs));
  const auto left = batches[0].inputs.index({batches[0].targets == 0});
  CHECK(left.mean().item<float>() < -0.5);
}

TEST_CASE(
    "process: a signal that asks for a stop ends the wait for a batch at once, and the loader stays where it was") {
  const auto hangs = going_wrong(
      "time.sleep(600 if asked['index'] == 2 else 0); send({'epoch': asked['epoch'], 'index': asked['index'], 'size': "
      "asked['size']}, content)");
  for (const int workers : {0, 1}) {
    CAPTURE(workers);
    const auto splits = load(hangs);
    Loader loader(splits.train, {}, loading(workers));
    REQUIRE(loader.next());
    REQUIRE(loader.next());
    base::Interrupt interrupt;
    interrupt.begin_saving();
    std::jthread signal([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      ::kill(::getpid(), SIGTERM);
    });
    const auto begin = std::chrono::steady_clock::now();
    CHECK_FALSE(loader.next());
    CHECK(std::chrono::steady_clock::now() - begin < esper::test::kPatience / 2);
    CHECK(base::Interrupt::requested() == SIGTERM);
    CHECK(loader.place().epoch == 0);
    CHECK(loader.place().batch == 2);
  }
}

TEST_CASE("process: a loader that seeks sees what one sees that came there, whoever fetches") {
  const auto splits = load(example());
  std::vector<Batch> all;
  {
    Loader loader(splits.train, {}, loading());
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (auto& batch : esper::test::rest_of_epoch(loader)) all.push_back(std::move(batch));
    }
  }
  const auto again = load(example());
  for (const int workers : {0, 1, 4}) {
    Loader loader(again.train, {}, loading(workers));
    loader.seek(1, 3);
    for (std::size_t i = 9; i < 12; ++i) {
      const auto batch = loader.next();
      REQUIRE(torch::equal(batch->inputs, all[i].inputs));
      REQUIRE(torch::equal(batch->targets, all[i].targets));
    }
  }
}

TEST_CASE("process: pixels, numbers as targets, and tokens") {
  const auto pixels = load(
      going_wrong("send({'epoch': asked['epoch'], 'index': asked['index'], 'size': asked['size']}, "
                  "bytes([0, 255, 51, 0]) * asked['size'] + struct.pack('<2f', 1, 0) * asked['size'])",
                  "first.update(inputs={'type': 'uint8', 'shape': [1, 2, 2]}, targets={'type': 'float32', 'shape': "
                  "[2]}, classes=['a', 'b'])"),
      Task::kMultilabel);
  CHECK(pixels.train.shape == leyline::image_shape(1, 2, 2, 2));
  Loader loader(pixels.train, {}, loading());
  const auto batch = loader.next();
  CHECK(torch::equal(batch->inputs[47].flatten(), torch::tensor({0.f, 1.f, 0.2f, 0.f})));
  CHECK(torch::equal(batch->targets[47], torch::tensor({1.f, 0.f})));
  const auto text =
      load(going_wrong("send({'epoch': asked['epoch'], 'index': asked['index'], 'size': asked['size']}, "
                       "struct.pack('<3q', 1, 2, 3) * asked['size'] + struct.pack('<3q', 2, 3, 4) * asked['size'])",
                       "first.update(inputs={'type': 'int64', 'shape': [3]}, targets={'type': 'int64', 'shape': [3]}, "
                       "classes=[], outputs=5)"),
           Task::kLanguage);
  CHECK(text.train.shape == leyline::tokens_shape(3, 5));
  Loader tokens(text.train, {}, loading());
  CHECK(torch::equal(tokens.next()->targets[0], torch::tensor({2, 3, 4}, torch::kInt64)));
}

TEST_CASE("process: a program that dies, hangs, sends rubbish or too much is named and ended") {
  CHECK_THAT(failure(going_wrong("os._exit(3)")),
             ContainsSubstring("(train): it has ended") && ContainsSubstring("its process: exit status 3"));
  CHECK_THAT(failure(going_wrong("os.kill(os.getpid(), signal.SIGSEGV)")), ContainsSubstring("signal 11"));
  CHECK_THAT(failure(going_wrong("time.sleep(3600)"), std::chrono::milliseconds(300)),
             ContainsSubstring("it does not answer in time (safety.data_deadline); its process: signal 9"));
  CHECK_THAT(failure(going_wrong("sys.stdout.buffer.write(b'x' * 100); sys.stdout.flush()")),
             ContainsSubstring("it sent something that is not a frame, which begins with \"xxxx"));
  CHECK_THAT(failure(going_wrong("print('loading ...', flush=True)")),
             ContainsSubstring("it sent something that is not a frame"));
  CHECK_THAT(failure(going_wrong("sys.stdout.buffer.write(b'ESPR' + struct.pack('<IQ', 1 << 31, 0)); "
                                 "sys.stdout.flush()")),
             ContainsSubstring("a header that is too long"));
  CHECK_THAT(failure(going_wrong("send({'epoch': 0, 'index': 0, 'size': 48}, content[:-8])")),
             ContainsSubstring("batch 0 of epoch 0: it sent 760 bytes, and 48 samples have 768"));
  CHECK_THAT(failure(going_wrong("send({'epoch': 0, 'index': 7, 'size': 48}, content)")),
             ContainsSubstring("it sent batch 7 of epoch 0"));
  CHECK_THAT(failure(going_wrong("send({'error': 'the disk\\nis full'})")),
             ContainsSubstring("batch 0 of epoch 0: it says: the disk\\nis full"));
  CHECK_THAT(failure(going_wrong("send({'batch': 1}, content)")), ContainsSubstring("batch"));
}

TEST_CASE("process: what it sends without being asked is noticed") {
  const auto splits =
      load(going_wrong("[send({**asked, 'first': 0} and {k: asked[k] for k in ('epoch', 'index', "
                       "'size')}, content) for _ in range(2)]"));
  Loader loader(splits.train, {}, loading(0));
  REQUIRE(loader.next());
  const auto until = std::chrono::steady_clock::now() + esper::test::kPatience;
  std::string problem;
  while (problem.empty() && std::chrono::steady_clock::now() < until) {
    try {
      loader.next();
    } catch (const base::Error& error) {
      problem = error.what();
    }
  }
  CHECK_THAT(problem, ContainsSubstring("it sent more than it was asked for") || ContainsSubstring("it sent batch 0"));
}

TEST_CASE("process: values that no network can take are named by sample") {
  const auto with = [](const std::string& bytes) {
    return going_wrong("send({k: asked[k] for k in ('epoch', 'index', 'size')}, " + bytes + ")");
  };
  CHECK_THAT(failure(with("content[:-8] + struct.pack('<q', 2)")),
             ContainsSubstring("batch 0 of epoch 0: sample 47: 2 is not in 0 to 1"));
  CHECK_THAT(failure(with("struct.pack('<2f', 0, float('nan')) + content[8:]")),
             ContainsSubstring("sample 0: a number is not finite"));
}

TEST_CASE("process: a first frame that does not go together is refused") {
  CHECK_THAT(refusal("first['version'] = 2"), ContainsSubstring("(train): its first frame: its version is not 1"));
  CHECK_THAT(refusal("first['samples'] = 0"), ContainsSubstring("it has no samples"));
  CHECK_THAT(refusal("first['inputs']['type'] = 'float64'"), ContainsSubstring("inputs.type"));
  CHECK_THAT(refusal("first['inputs']['shape'] = [1 << 40, 1 << 40]"), ContainsSubstring("a shape is out of range"));
  CHECK_THAT(refusal("first['inputs']['shape'] = [-2]"), ContainsSubstring("a shape is out of range"));
  CHECK_THAT(refusal("first['targets']['type'] = 'float32'"), ContainsSubstring("targets of this task are int64"));
  CHECK_THAT(refusal("first['classes'] = []"), ContainsSubstring("outputs is missing"));
  CHECK_THAT(refusal("first['outputs'] = 3"), ContainsSubstring("classes does not name each"));
  CHECK_THAT(refusal("first['colour'] = 3"), ContainsSubstring("colour"));
  CHECK_THAT(refusal("if start['part'] == 'validation': first['classes'] = ['a', 'b']"),
             ContainsSubstring("validation part differ from those of its training part"));
  CHECK_THAT(refusal("raise SystemExit(4)"), ContainsSubstring("exit status 4"));
  CHECK_THAT(refusal("first = {'error': 'no disk'}"), ContainsSubstring("(train): it says: no disk"));
  CHECK_THAT(error_of([] { load({"/nowhere/program"}); }).what(), ContainsSubstring("/nowhere/program (train): "));
}

TEST_CASE("process: a first frame that comes too late is not blamed on the time limit for a batch") {
  SampleProcessSettings settings;
  settings.command = going_wrong("pass", "time.sleep(3600)");
  settings.part = kTrainPart;
  settings.start_deadline = std::chrono::milliseconds(300);
  CHECK_THAT(error_of([&] { SampleProcess process(settings); }).what(),
             ContainsSubstring("(train): it does not send its first frame within 0.3 s"));
}

TEST_CASE("process: a loader that is given up does not wait for a program that hangs, and the next one starts again") {
  const auto splits =
      load(going_wrong("time.sleep(3600 if asked['index'] > 0 else 0); send({k: asked[k] for k in "
                       "('epoch', 'index', 'size')}, content)"));
  for (int i = 0; i < 2; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    {
      Loader loader(splits.train, {}, loading());
      REQUIRE(loader.next());
    }
    CHECK(std::chrono::steady_clock::now() - begin < esper::test::kPatience / 2);
  }
}

}  // namespace
}  // namespace esper::data::test::sample_process_test
