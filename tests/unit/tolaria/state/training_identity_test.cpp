#include "tolaria/state/training_identity.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>

#include "support/temporary_folder.h"

namespace esper::test::training_identity_test {

using Catch::Matchers::ContainsSubstring;
using config::DataKind;
using tolaria::training_identity;

namespace {

// What a checkpoint of the same configuration on other data is refused with.
std::string refusal_of_other_data(DataKind kind, const std::string& validation_path = "") {
  config::RunConfig config;
  config.data.kind = kind;
  config.data.path = "/data/train";
  config.data.validation_path = validation_path;
  const auto identity = training_identity(config, {});
  const auto checked = identity.check(identity.configuration + "-0123456789abcdef");
  REQUIRE_FALSE(checked);
  const auto data_checked = identity.check_data("another configuration-0123456789abcdef");
  REQUIRE_FALSE(data_checked);
  CHECK(data_checked.error() == checked.error());
  CHECK(identity.check_data("another configuration-" + identity.data));
  return checked.error();
}

}  // namespace

TEST_CASE("where this version reads data otherwise than earlier ones, the refusal of other data says so") {
  CHECK_THAT(refusal_of_other_data(DataKind::kWebdataset), ContainsSubstring("uint8") && ContainsSubstring("PNGs"));
  CHECK_THAT(refusal_of_other_data(DataKind::kImages),
             ContainsSubstring("folders val and valid") && ContainsSubstring("16 bits a channel"));
  CHECK_THAT(refusal_of_other_data(DataKind::kCsv, "/data/validation.csv"), ContainsSubstring("by their names"));
  for (const auto kind : {DataKind::kCsv, DataKind::kNpy})
    CHECK(refusal_of_other_data(kind) == "the data in /data/train differ from its training data");
}

TEST_CASE("a copy of the validation data at another path is the same training") {
  const TemporaryFolder folder;
  config::RunConfig config;
  config.data.kind = DataKind::kCsv;
  config.data.path = folder / "train.csv";
  const auto identity_with = [&](const std::string& validation, const std::string& rows) {
    std::ofstream(folder / validation) << rows;
    config.data.validation_path = folder / validation;
    return training_identity(config, data::load_dataset(config.data));
  };
  const std::string rows = "1,2,ant\n3,4,bee\n";
  std::ofstream(config.data.path) << rows;
  const auto identity = identity_with("validation.csv", rows);
  CHECK(identity_with("copy.csv", rows).check(identity.text()));
  CHECK_FALSE(identity_with("other.csv", "1,2,ant\n3,5,bee\n").check(identity.text()));
}

}  // namespace esper::test::training_identity_test
