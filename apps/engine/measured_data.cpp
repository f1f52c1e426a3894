#include "engine/measured_data.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "data/files/input_error.h"
#include "data/readers/test_part.h"
#include "engine/target_fit.h"
#include "nissa/log.h"
#include "tolaria/state/training_identity.h"

namespace esper::engine {
namespace {

using base::Error;
using base::ExitCode;

bool same_tensor(const torch::Tensor& a, const torch::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.scalar_type() == b.scalar_type() && a.equal(b);
}

// Wherever they lie: figures on samples that policy and gates saw are no test figures.
void require_unseen(const data::Splits& data) {
  const data::Dataset &test = *data.test, &validation = data.validation;
  const bool same = same_tensor(test.inputs, validation.inputs) && same_tensor(test.targets, validation.targets) &&
                    same_tensor(test.windows, validation.windows);
  if (!same) return;
  throw Error(ExitCode::kConfig,
              "data.test_path: this run was validated on these test samples, so its policy and gates have seen them; "
              "use --part validation, or name other data. A run that is trained with data.test_path set keeps the test "
              "part that comes with its data for testing");
}

bool is_gone(const std::string& path) {
  std::error_code unknown;
  return !path.empty() && !std::filesystem::exists(path, unknown) && !unknown;
}

// Where data lie that can be measured without the run's own. Empty: there are none.
std::string other_path(const EvaluateRequest& request) {
  const auto& data = request.config.data;
  if (request.part != EvaluatedPart::kTest) return request.moved_path;
  if (!request.added_test_path.empty()) return request.added_test_path;
  return is_gone(data.path) ? data.test_path : request.moved_path;
}

const char* key_of(const config::DataConfig& data, const std::string& path) {
  if (path == data.path) return "path";
  return path == data.labels ? "labels" : "test_path";
}

// hint: what else may have changed them.
[[noreturn]] void fail_changed(const SavedRun& saved, const std::string& hint) {
  throw Error(
      ExitCode::kCheckpoint,
      saved.path +
          ": training or validation data differ from those of this checkpoint, so the part to be measured could "
          "hold samples that it was trained on, and inputs would be scaled differently; restore the data, or "
          "leave out the --set that changes them. Other data are measured with --set data.test_path=PATH" +
          hint);
}

// The run's own data. Nothing where these are gone, or others, and other data are to be measured without them.
std::optional<data::Splits> own_data(const EvaluateRequest& request, const SavedRun& saved) {
  const bool dispensable = saved.preprocessing && !other_path(request).empty();
  std::string hint;
  const bool testing = request.part == EvaluatedPart::kTest && request.added_test_path.empty();
  try {
    auto data = load_data(request.config, kSameCommand, testing ? data::TestPart::kRead : data::TestPart::kUnread);
    const auto identity = tolaria::training_identity(request.config, data);
    if (identity.has_data_of(saved.image.info.training_hash)) return data;
    hint = identity.data_hint;
  } catch (const Error& error) {
    if (!dispensable || (error.code() != ExitCode::kData && error.code() != ExitCode::kConfig)) throw;
  }
  if (!dispensable) fail_changed(saved, hint);
  return std::nullopt;
}

data::Dataset other_data(const EvaluateRequest& request, const SavedRun& saved) {
  auto config = request.config;
  config.data.test_path = other_path(request);
  if (is_gone(config.data.test_path)) {
    throw data::MissingData(config.data.test_path, key_of(config.data, config.data.test_path));
  }
  config.data.test_fraction = 0;
  // A place of the run's own file was compared before it trained.
  if (config.data.test_path == request.added_test_path) data::require_test_place(config.data);
  // Then they do not lie beside training data. Labels of images name files below data.path.
  const bool moved = config.data.test_path == config.data.path && config.data.kind != config::DataKind::kImages;
  if (moved && !request.moved_path.empty()) config.data.path.clear();
  auto other = saved.preprocessing ? data::load_other(config.data, *saved.preprocessing)
                                   : std::move(*load_data(config, kSameCommand, data::TestPart::kRead).test);
  if (const auto misfit = misfit_of_targets(config, other); !misfit.empty()) {
    throw Error(ExitCode::kData, config.data.test_path + ": " + misfit);
  }
  return other;
}

void warn_not_compared(const SavedRun& saved) {
  nissa::log::warning("the data that " + saved.path +
                      " was trained and validated on are not there, so whether these samples are among them is not "
                      "known");
}

data::Splits data_of(const EvaluateRequest& request, const SavedRun& saved, EvaluatedPart& part) {
  std::optional<data::Dataset> other;
  // Before the run's own, so that only its samples stay in memory.
  const bool added = part == EvaluatedPart::kTest && !request.added_test_path.empty();
  if (added) other = other_data(request, saved);
  auto own = own_data(request, saved);
  if (!own) {
    // In the place of the run's own data others were named: those were not looked for.
    const bool replaced = !request.moved_path.empty() && other_path(request) == request.moved_path;
    if (!replaced) warn_not_compared(saved);
    if (!other) other = other_data(request, saved);
    part = EvaluatedPart::kTest;
  }
  data::Splits data = own ? std::move(*own) : data::Splits();
  if (other) data.test = std::move(other);
  if (saved.preprocessing) data.standardization = saved.preprocessing->standardization;
  if (part == EvaluatedPart::kTest && data.validation.inputs.defined()) require_unseen(data);
  return data;
}

}  // namespace

MeasuredData measured_data(const EvaluateRequest& request, const SavedRun& saved) {
  require_task(saved, request.config.task);
  EvaluatedPart part = request.part;
  auto data = data_of(request, saved, part);
  const auto shape = saved.preprocessing ? saved.preprocessing->shape : data.train.shape;
  return {set_up_saved(request.config, shape, saved_numerics(saved), [&] { return std::move(data); }), part};
}

}  // namespace esper::engine
