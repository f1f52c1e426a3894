#include "program/package.h"

#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/types.h>

#include "leyline/error.h"

namespace esper::program {

// One thread: one run at a time needs no lock around each, and on a card no events between runs, which a captured run
// could not ask. Without a stream handle the CUDA runner takes the current stream
// (AOTIModelContainerRunnerCuda::run_impl).
Package::Package(const std::string& path, c10::Device device) {
  constexpr bool kOneThread = true;
  constexpr std::size_t kOneRunner = 1;
  const c10::DeviceIndex index = device.is_cuda() ? device.index() : c10::DeviceIndex{-1};
  try {
    loader_ = std::make_unique<torch::inductor::AOTIModelPackageLoader>(path, "model", kOneThread, kOneRunner, index);
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
