#include "program/package.h"

#include <caffe2/serialize/inline_container.h>
#include <elf.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/types.h>

#include <cstring>
#include <stdexcept>

#include "leyline/error.h"

namespace esper::program {

// As the worker writes it (compile/worker/job.py).
constexpr char kInputsFact[] = "esper_inputs";
const std::string kNoLoad = "the compiled program does not load: ";

namespace {

// A shared library that ends too early kills the process that loads it. Its section table is its last part.
void check_libraries(const std::string& path) {
  caffe2::serialize::PyTorchStreamReader package(path);
  for (const std::string& name : package.getAllRecords()) {
    if (!name.ends_with(".so")) continue;
    const auto [data, size] = package.getRecord(name);
    Elf64_Ehdr header{};
    std::memcpy(&header, data.get(), std::min(size, sizeof header));
    const std::uint64_t end = header.e_shoff + std::uint64_t{header.e_shentsize} * header.e_shnum;
    if (header.e_shoff == 0 || end > size) throw std::runtime_error("its shared library is cut short");
  }
}

}  // namespace

// One thread: one run at a time needs no lock around each, and on a card no events between runs, which a captured run
// could not ask. Without a stream handle the CUDA runner takes the current stream
// (AOTIModelContainerRunnerCuda::run_impl).
Package::Package(const std::string& path, const std::string& inputs, c10::Device device) {
  constexpr bool kOneThread = true;
  constexpr std::size_t kOneRunner = 1;
  const c10::DeviceIndex index = device.is_cuda() ? device.index() : c10::DeviceIndex{-1};
  try {
    check_libraries(path);
    loader_ = std::make_unique<torch::inductor::AOTIModelPackageLoader>(path, "model", kOneThread, kOneRunner, index);
  } catch (const c10::Error& error) {
    throw leyline::Error(leyline::ExitCode::kResources, kNoLoad + error.what_without_backtrace());
  } catch (const std::exception& error) {
    throw leyline::Error(leyline::ExitCode::kResources, kNoLoad + error.what());
  }
  const auto facts = loader_->get_metadata();
  const auto compiled_for = facts.find(kInputsFact);
  if (compiled_for == facts.end() || compiled_for->second != inputs) {
    throw leyline::Error(leyline::ExitCode::kResources, "the compiled program is one for other inputs");
  }
}
Package::~Package() = default;
Package::Package(Package&&) noexcept = default;

void Package::run(const std::vector<at::Tensor>& inputs) const {
  const c10::InferenceMode inference;
  loader_->run(inputs);
}

}  // namespace esper::program
