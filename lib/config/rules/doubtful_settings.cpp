#include "config/rules/doubtful_settings.h"

#include <fmt/core.h>

namespace esper::config {

Findings doubtful_settings(const RunConfig& config) {
  const GradScalerConfig& scaler = config.training.grad_scaler;
  if (config.device.precision != Precision::kFp16 || scaler.init_scale >= 1) return {};
  return {{"training.grad_scaler.init_scale",
           fmt::format(
               "{:g} is below 1 and makes gradients smaller: small ones become zero in fp16, and the network learns "
               "little until the scale has grown; leave it out for the default, {:g}, or set device.precision: bf16",
               scaler.init_scale, GradScalerConfig().init_scale),
           {"device.precision"}}};
}

}  // namespace esper::config
