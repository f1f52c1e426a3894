#include "history/bundle_config.h"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "storage/real_file_system.h"
#include "support/temporary_folder.h"

namespace esper::test::bundle_config_test {

using history::bundle_name;
using history::bundle_step;
using history::newest_bundle;

TEST_CASE("a bundle is named after its step, and only what a run names so is one") {
  for (const std::int64_t step : {0L, 37L, 999'999'999L, 1'000'000'000L, INT64_MAX}) {
    CHECK(bundle_step(bundle_name(step)) == step);
  }
  for (const char* const name :
       {"", "-", "step", "step-", "step-9", "step-0000000009", "step--00000001", "step-000000037.tmp-12",
        "step-000000037-2", "epoch-000000037", "step-99999999999999999999"}) {
    CAPTURE(name);
    CHECK_FALSE(bundle_step(name));
  }
}

TEST_CASE("the newest bundle is that of the latest step, whatever else lies in its folder") {
  namespace fs = std::filesystem;
  const TemporaryFolder run;
  auto& files = storage::real_file_system();
  CHECK(newest_bundle(files, run.path()).empty());
  const fs::path bundles = fs::path(run.path()) / "bundles";
  fs::create_directory(bundles);
  CHECK(newest_bundle(files, run.path()).empty());

  const auto make = [&](const std::string& name) {
    fs::create_directory(bundles / name);
    std::ofstream(bundles / name / "step.json") << "{}";
  };
  make(bundle_name(15));
  make(bundle_name(999'999'999));
  make(bundle_name(1'000'000'000));  // sorts before it as text
  make("step-2000000000.tmp-12");
  fs::create_directory(bundles / bundle_name(3'000'000'000));  // an empty folder
  std::ofstream(bundles / bundle_name(4'000'000'000)) << "a file";
  fs::create_directory_symlink(bundles / bundle_name(15), bundles / bundle_name(5'000'000'000));
  CHECK(newest_bundle(files, run.path()) == (bundles / "step-1000000000").string());
}

}  // namespace esper::test::bundle_config_test
