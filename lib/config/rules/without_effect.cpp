#include "config/rules/without_effect.h"

#include <fmt/core.h>

#include "base/names.h"

namespace esper::config {

Findings settings_without_effect(const RunConfig& config) {
  const Precision precision = config.device.precision;
  if (precision == Precision::kFp16 || config.training.grad_scaler == GradScalerConfig()) return {};
  return {{"training.grad_scaler",
           fmt::format("has no effect with device.precision {}: the loss is scaled only in fp16; leave it out, or set "
                       "device.precision: fp16",
                       base::name_of(precision)),
           {"device.precision"}}};
}

}  // namespace esper::config
