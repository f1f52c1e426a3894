#include "program/package.h"

#include <caffe2/serialize/inline_container.h>
#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support/faults/failing_allocator.h"
#include "support/printed_errors.h"
#include "unit/program_compile/worker_fixture.h"

namespace esper::program::package_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Equals;
using Catch::Matchers::MessageMatches;

// As inputs_text() has it.
std::string inputs_of(const CompileRequest& request) {
  const auto begin = request.source.find("INPUTS"), end = request.source.find("\ndef step");
  return request.source.substr(begin, end - begin);
}

CachedPackage compiled(Service& service, const CompileRequest& request) {
  service.compiler->submit(request);
  const auto outcome = service.compiler->wait(request.key, test::kLongPatience);
  REQUIRE(outcome);
  INFO(outcome->reason);
  REQUIRE_FALSE(outcome->failure);
  auto found = service.cache.find(request.key);
  REQUIRE(found);
  return std::move(*found);
}

at::Tensor after_a_step(const Package& package) {
  std::vector<at::Tensor> inputs = {torch::ones({4}), torch::zeros({4})};
  package.run(inputs);
  return inputs[1];
}

// Writes the package to `target` with `after` in place of `before`, which is as long, in its library.
void write_with_other_text(const std::string& package, const std::string& before, const std::string& after,
                           const std::string& target) {
  caffe2::serialize::PyTorchStreamReader reader(package);
  caffe2::serialize::PyTorchStreamWriter writer(target);
  for (const std::string& record : reader.getAllRecords()) {
    if (!record.starts_with("data/aotinductor/")) continue;  // the writer adds the others itself
    const auto [data, size] = reader.getRecord(record);
    std::string contents(static_cast<const char*>(data.get()), size);
    if (record.ends_with(".so")) {
      REQUIRE(contents.find(before) != std::string::npos);
      for (auto at = contents.find(before); at != std::string::npos; at = contents.find(before)) {
        contents.replace(at, after.size(), after);
      }
    }
    writer.writeRecord(record, contents.data(), contents.size());
  }
  writer.writeEndOfFile();
}

}  // namespace

TEST_CASE("a package runs when all its files are gone, leaves none behind, and is none for other inputs") {
  Service service;
  service.start();
  const auto first = Service::request(1);
  auto second = first;
  second.source.replace(second.source.find("0.9"), 3, "0.5");
  second.key = cache_key({second.source, "", "", "", 1, "", ""});
  // `operators without a C interface` are found through a file beside the library.
  auto third = first;
  third.source.replace(third.source.find("aten.add_.Tensor(a1, t0, alpha=1)"), 33,
                       "aten.add_.Tensor(a1, torch.ops.aten._foreach_norm.Scalar([t0], 1)[0], alpha=1)");
  third.key = cache_key({third.source, "", "", "", 1, "", ""});

  const std::string temporary = service.folder / "tmp";
  std::filesystem::create_directory(temporary);
  std::optional<Package> loaded, other, with_kernel;
  {
    const auto one = compiled(service, first), two = compiled(service, second), three = compiled(service, third);
    ::setenv("TMPDIR", temporary.c_str(), 1);
    CHECK_THROWS_MATCHES(Package(one.file.path(), "INPUTS = []", c10::kCPU), base::Error,
                         MessageMatches(ContainsSubstring("other inputs")));
    loaded.emplace(one.file.path(), inputs_of(first), c10::kCPU);
    other.emplace(two.file.path(), inputs_of(second), c10::kCPU);
    with_kernel.emplace(three.file.path(), inputs_of(third), c10::kCPU);
    ::unsetenv("TMPDIR");
  }
  CHECK(std::filesystem::is_empty(temporary));
  service.compiler.reset();
  std::filesystem::remove_all(service.folder / "programs");
  CHECK(after_a_step(*loaded).allclose(torch::full({4}, 0.9)));
  CHECK(after_a_step(*other).allclose(torch::full({4}, 0.5)));
  CHECK(after_a_step(*with_kernel).allclose(torch::full({4}, 3.6)));
}

TEST_CASE("why a package fails is in the exception, in one line, and nothing of it is printed") {
  Service service;
  service.start();
  auto request = Service::request(1);
  // An operator that torch computes, and whose result it allocates.
  request.source.replace(request.source.find("aten.add_.Tensor(a1, t0, alpha=1)"), 33,
                         "aten.add_.Tensor(a1, torch.ops.aten._foreach_norm.Scalar([t0], 1)[0], alpha=1)");
  request.key = cache_key({request.source, "", "", "", 1, "", ""});
  const Package package(compiled(service, request).file.path(), inputs_of(request), c10::kCPU);
  const std::vector<at::Tensor> inputs = {torch::ones({4}), torch::zeros({4})};
  const test::PrintedErrors printed;
  test::FailingAllocator::instance().fail_at(1);
  std::string reason;
  try {
    package.run(inputs);
  } catch (const std::runtime_error& error) {
    reason = error.what();
  }
  REQUIRE(test::FailingAllocator::instance().fired());
  CHECK_THAT(reason, Equals("the compiled program failed: std::bad_alloc"));
  CHECK(printed.text().empty());
}

TEST_CASE("a package whose library needs one that the machine lacks may be good") {
  Service service;
  service.start();
  const auto request = Service::request(1);
  const std::string needing = service.folder / "needing";
  write_with_other_text(compiled(service, request).file.path(), "libstdc++.so.6", "libstdc++.so.x", needing);
  CHECK_THROWS_MATCHES(Package(needing, inputs_of(request), c10::kCPU), base::IoError,
                       MessageMatches(ContainsSubstring("libstdc++.so.x: cannot open shared object file")));
}

TEST_CASE("a file that is no package is refused in words") {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "package") << "nonsense";
  CHECK_THROWS_MATCHES(Package(folder / "package", "", c10::kCPU), base::Error,
                       MessageMatches(ContainsSubstring("cannot load")));
}

}  // namespace esper::program::package_test
