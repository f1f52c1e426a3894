#include "history/ledger/advice.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/names.h"
#include "history/ledger/time_shares.h"

namespace esper::history {
namespace {

using base::Owner;
using config::RunConfig;

// The ledger has the device that the run began on; one that was named since, as on --resume, is in the configuration.
bool on_cuda(const RunConfig& config, const RunLedger& ledger) {
  const bool chosen = config.device.kind == "auto" && !ledger.device.empty();
  return (chosen ? ledger.device : config.device.kind).starts_with("cuda");
}

// What to set, and why; both empty if there is nothing to try.
struct Try {
  std::string set, why;
};

Try for_loader(const RunConfig& config, bool cuda) {
  if (config.data.workers == 0) {
    return {"data.workers=2", "the training thread prepares its batches itself (data.workers is 0)"};
  }
  if (cuda && config.data.gpu_dataset == config::Resident::kOff) {
    return {"data.gpu_dataset=auto", "the data set is not kept on the device"};
  }
  if (config.data.workers < 8) {
    return {fmt::format("data.workers={}", 2 * config.data.workers),
            fmt::format("{} threads prepare batches and are too slow", config.data.workers)};
  }
  if (config.data.prefetch < 16) {
    return {fmt::format("data.prefetch={}", 4 * config.data.prefetch),
            fmt::format("only {} batches are prepared in advance", config.data.prefetch)};
  }
  return {};
}

Try for_transfer(const RunConfig& config) {
  if (config.data.gpu_dataset == config::Resident::kOff) {
    return {"data.gpu_dataset=auto", "every batch is copied, although the data set might fit on the device"};
  }
  if (!config.data.gpu_prefetch) return {"data.gpu_prefetch=true", "batches are not copied during the step"};
  if (!config.data.pin_memory) return {"data.pin_memory=true", "batches are copied from pageable memory"};
  if (config.data.gpu_dataset == config::Resident::kAuto) {
    return {"data.gpu_dataset=on", "batches are copied; on keeps the data set on the device even if it is large"};
  }
  return {};
}

Try for_compile(const RunConfig& config) {
  using config::Lane;
  if (config.step.lane == Lane::kEager) return {};
  if (config.step.compile.mode == config::CompileMode::kMaxAutotune) {
    return {"step.compile.mode=default", "max-autotune times many kernels for each program"};
  }
  if (config.step.check_every > 0 && config.step.check_every < 10'000) {
    return {"step.check_every=10000",
            fmt::format("the fast lane is compared with eager every {} steps", config.step.check_every)};
  }
  if (config.step.lane == Lane::kReplay) return {"step.lane=eager", "too few steps to amortise a recording"};
  return {"step.lane=replay",
          "too few steps to amortise a compilation; a longer run, or the next run of the same network with a warm "
          "cache, may be faster without a change"};
}

Try for_policy(const RunConfig& config, const RunLedger& ledger) {
  if (ledger.policy_timeouts > 0) {
    return {"safety.policy_deadline=" + base::to_string(config.safety.policy_deadline / 2),
            fmt::format("{:.0f} decisions were late, each after a wait of ", ledger.policy_timeouts) +
                base::to_string(config.safety.policy_deadline)};
  }
  if (!config.growth.enabled || config.policy.kind == config::PolicyKind::kNone) return {};
  if (config.policy.asks(config::PolicyKind::kGnn) && config.policy.overlap == config::PolicyOverlap::kOff) {
    return {"policy.overlap=on",
            "training waits for each decision of the network; it could train the next epoch meanwhile"};
  }
  return {"policy.kind=none",
          "decisions and network changes take this time; without a policy the network does not grow"};
}

Try for_telemetry(const RunConfig& config, const RunLedger& ledger) {
  const double epochs = static_cast<double>(std::max<std::int64_t>(ledger.epochs + ledger.epochs_again, 1));
  const std::string why = fmt::format("each epoch reports once, and takes {:.2f} ms",
                                      (ledger.wall_ms - ledger.of(Owner::kStartUp)) / epochs);
  if (config.telemetry.console != config::ConsoleMode::kNone) return {"telemetry.console=none", why};
  if (config.telemetry.jsonl) return {"telemetry.jsonl=false", why + "; only the summary is then written"};
  return {};
}

Try for_checkpoint(const RunConfig& config) {
  using Unit = base::Length::Unit;
  const base::Length every = config.checkpoint.every;
  const bool often = every.count > 0 && (every.unit == Unit::kSteps || every.count < 10);
  if (often) {
    return {"checkpoint.every=" + base::to_string(base::Length{10 * every.count, every.unit}),
            "the state is saved every " + base::to_string(every)};
  }
  if (config.checkpoint.keep_best) return {"checkpoint.keep_best=false", "every better epoch is saved"};
  return {};
}

// Whether the validation samples are split off from the others. Formats that may bring a part of their own (as MNIST's
// t10k files) count as doing so: the run file alone does not show it, and the fraction would have no effect.
bool is_split(const config::DataConfig& data) {
  using Kind = config::DataKind;
  switch (data.kind) {
    case Kind::kDigits:
    case Kind::kCsv:
    case Kind::kText:
    case Kind::kSynthetic:
    case Kind::kTable:
    case Kind::kParquet:
    case Kind::kTokens:
    case Kind::kWebdataset:
      return data.validation_path.empty();
    default:
      return false;
  }
}

Try for_validation(const RunConfig& config, const RunLedger& ledger) {
  if (ledger.of(Owner::kControl) > ledger.of(Owner::kValidation)) {
    return {fmt::format("growth.control.budget={:g}", config.growth.control.budget / 2),
            "most of it trained the controls that seeds are compared with"};
  }
  if (is_split(config.data) && config.data.validation_fraction > 0.05) {
    return {
        fmt::format("data.validation_fraction={:g}", config.data.validation_fraction / 2),
        fmt::format("{:g}% of the samples are measured after every epoch", 100 * config.data.validation_fraction) +
            (config.growth.enabled ? ", once more for each seed under evaluation" : "") +
            "; another fraction is another split, so set it for a new run only: its figures are not comparable with "
            "those of this one"};
  }
  const int every = config.growth.counterfactual.every_epochs;
  if (config.growth.enabled && every > 0 && every < 20) {
    return {fmt::format("growth.counterfactual.every_epochs={}", 2 * every),
            fmt::format("every {} epochs all validation samples are measured once more for each seed", every)};
  }
  return {};
}

Try for_compute(const RunConfig& config, const RunLedger& ledger, bool cuda) {
  constexpr double kTiny = 500, kLarge = 5000;  // microseconds
  if (config.step.lane == config::Lane::kEager) return {"step.lane=auto", "the steps run in the eager lane"};
  if (cuda && config.device.precision == config::Precision::kFp32) {
    return {"device.precision=auto", "the steps compute in fp32"};
  }
  if (!cuda && ledger.step_p50_us && *ledger.step_p50_us < kTiny && config.device.threads != 1) {
    return {"device.threads=1",
            fmt::format("a step takes {:.0f} us, too short for several threads", *ledger.step_p50_us)};
  }
  if (!cuda && ledger.step_p50_us && *ledger.step_p50_us > kLarge && config.device.threads == 1) {
    return {"device.threads=0", fmt::format("a step takes {:.1f} ms on one thread", *ledger.step_p50_us / 1000)};
  }
  if (config.step.lane != config::Lane::kAuto) {
    return {"step.lane=auto", "the lane is fixed; auto selects the lane measured to be fastest"};
  }
  return {};
}

// A step that is skipped takes the time of one that trains.
Try for_skipped_steps(const RunConfig& config, const RunLedger& ledger) {
  if (config.device.precision != config::Precision::kFp16) return {};
  return {"device.precision=bf16",
          fmt::format("{} of {} steps changed nothing, since their gradients overflow in fp16; a lower "
                      "training.optimizer.lr may help, too",
                      ledger.skipped_steps.value_or(0), ledger.steps)};
}

// What slows all that the CPU computes, whoever owns the time.
Try for_arithmetic(const RunConfig& config, const RunLedger& ledger, std::int64_t cores) {
  if (on_cuda(config, ledger)) return {};
  if (config.device.threads > cores) {
    return {fmt::format("device.threads={}", cores),
            fmt::format("{} threads compute on {} {} of this machine and wait for each other", config.device.threads,
                        cores, cores == 1 ? "core" : "cores")};
  }
  if (config.device.precision == config::Precision::kFp16) {
    return {"device.precision=fp32",
            "fp16 is slow on the CPU; bf16 may be faster than fp32 if the processor has instructions for it"};
  }
  return {};
}

Try what_to_try(Owner owner, const RunConfig& config, const RunLedger& ledger) {
  const bool cuda = on_cuda(config, ledger);
  switch (owner) {
    case Owner::kCompute:
      return for_compute(config, ledger, cuda);
    case Owner::kTransfer:
      return for_transfer(config);
    case Owner::kLoaderWait:
      return for_loader(config, cuda);
    case Owner::kCompile:
      return for_compile(config);
    case Owner::kPolicy:
      return for_policy(config, ledger);
    case Owner::kTelemetry:
      return for_telemetry(config, ledger);
    case Owner::kCheckpoint:
      return for_checkpoint(config);
    case Owner::kRollback:
      return {fmt::format("training.optimizer.lr={:g}", config.training.optimizer.lr / 2), "training was rolled back"};
    case Owner::kValidation:
      return for_validation(config, ledger);
    case Owner::kControl:
    case Owner::kIdle:
    case Owner::kStartUp:
      break;
  }
  return {};
}

}  // namespace

Advice advise(const RunConfig& config, const RunLedger& ledger, std::int64_t cores) {
  constexpr double kNegligibleShare = 0.05;
  const double counted = ledger.wall_ms - ledger.of(Owner::kStartUp);
  const auto share = [&](Owner owner) {
    const double ms = ledger.of(owner) + (owner == Owner::kValidation ? ledger.of(Owner::kControl) : 0);
    return counted > 0 ? ms / counted : 0;
  };
  const auto advice_for = [&](Owner owner, const Try& attempt) {
    const std::string name(base::name_of(owner));
    return Advice{name, attempt.set,
                  fmt::format("{} has {:.1f}% of the time after start-up: ", name, 100 * share(owner)) + attempt.why};
  };
  const Try arithmetic = for_arithmetic(config, ledger, cores), skips = for_skipped_steps(config, ledger);
  const double skipped = skips.set.empty() ? 0 : share(Owner::kCompute) * ledger.skipped_share();
  for (const TimeShare& candidate : time_shares(ledger)) {
    if (share(candidate.owner) < kNegligibleShare) continue;
    const bool computes = candidate.owner == Owner::kCompute || candidate.owner == Owner::kValidation;
    if (computes && !arithmetic.set.empty()) return advice_for(candidate.owner, arithmetic);
    if (candidate.owner == Owner::kCompute) continue;
    if (share(candidate.owner) <= skipped) break;
    if (const Try attempt = what_to_try(candidate.owner, config, ledger); !attempt.set.empty()) {
      return advice_for(candidate.owner, attempt);
    }
  }
  if (skipped >= kNegligibleShare) return advice_for(Owner::kCompute, skips);
  if (const Try attempt = what_to_try(Owner::kCompute, config, ledger); !attempt.set.empty()) {
    return advice_for(Owner::kCompute, attempt);
  }
  return advice_for(Owner::kCompute, {"", "no setting to try follows from these figures"});
}

}  // namespace esper::history
