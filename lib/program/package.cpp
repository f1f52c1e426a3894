#include "program/package.h"

#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/types.h>

#include "leyline/error.h"

namespace esper::program {

Package::Package(const std::string& path) {
  constexpr bool kOneThread = true;  // one run at a time: no lock around each
  try {
    loader_ = std::make_unique<torch::inductor::AOTIModelPackageLoader>(path, "model", kOneThread);
  } catch (const c10::Error& error) {
    throw leyline::Error(leyline::ExitCode::kResources, path + " does not load: " + error.what_without_backtrace());
  } catch (const std::exception& error) {
    throw leyline::Error(leyline::ExitCode::kResources, path + " does not load: " + error.what());
  }
}
Package::~Package() = default;
Package::Package(Package&&) noexcept = default;

void Package::run(const std::vector<at::Tensor>& inputs) const {
  const c10::InferenceMode inference;
  loader_->run(inputs);
}

}  // namespace esper::program
