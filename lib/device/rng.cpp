#include "device/rng.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

#include <mutex>
#include <string>

#include "base/error.h"
#include "base/hash.h"
#include "device/cuda_table.h"

namespace esper::device {
namespace {

// Generators are shared by all threads; torch's own rule is to hold their mutex.
void seed_one(at::Generator generator, std::uint64_t seed) {
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(seed);
}

at::Tensor state_of(at::Generator generator) {
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

void restore(at::Generator generator, const at::Tensor& state, const char* whose) {
  const std::lock_guard lock(generator.mutex());
  try {
    generator.set_state(state);
  } catch (const c10::Error& error) {
    throw base::Error(base::ExitCode::kCheckpoint, std::string("the saved random state of the ") + whose +
                                                       " does not fit this torch: " + error.what_without_backtrace());
  }
}

at::Generator cuda_generator(c10::DeviceIndex index) {
  return at::globalContext().defaultGenerator(c10::Device(c10::DeviceType::CUDA, index));
}

}  // namespace

std::uint64_t derive_seed(std::uint64_t run_seed, std::string_view id) {
  return base::mix64(base::mix64(run_seed) ^ base::fnv1a(id));
}

at::Generator make_generator(std::uint64_t seed) { return at::detail::createCPUGenerator(seed); }

std::uint64_t cpu_generator_fingerprint() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  const at::mt19937_data_pod position = generator.get<at::CPUGeneratorImpl>()->engine().data();
  // The words are replaced together, some 600 draws long, so that a few of them name the block.
  std::uint64_t fingerprint = base::mix64(position.seed_) ^ static_cast<std::uint64_t>(position.next_);
  for (const std::size_t i : {std::size_t{0}, position.state_.size() / 2, position.state_.size() - 1})
    fingerprint = base::mix64(fingerprint) ^ position.state_[i];
  return fingerprint;
}

// Not at::manual_seed: it asks torch whether there is CUDA, and the answer "no" would stay.
void seed_all(std::uint64_t seed) {
  seed_one(at::detail::getDefaultCPUGenerator(), seed);
  if (!cuda_loaded()) return;
  for (int index = 0; index < cuda().device_count(); ++index) {
    seed_one(cuda_generator(static_cast<c10::DeviceIndex>(index)), seed);
  }
}

RngState rng_state(c10::Device device) {
  RngState state;
  state.cpu = state_of(at::detail::getDefaultCPUGenerator());
  if (device.is_cuda()) state.cuda = state_of(cuda_generator(device.index()));
  return state;
}

void set_rng_state(c10::Device device, const RngState& state) {
  restore(at::detail::getDefaultCPUGenerator(), state.cpu, "CPU");
  if (device.is_cuda() && state.cuda.defined()) restore(cuda_generator(device.index()), state.cuda, "GPU");
}

KeptRngState::~KeptRngState() noexcept(false) {
  try {
    set_rng_state(device_, state_);
  } catch (const std::exception&) {
    if (std::uncaught_exceptions() == unwinding_) throw;
  }
}

}  // namespace esper::device
