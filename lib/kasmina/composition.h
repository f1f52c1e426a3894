#pragma once
// How a seed's output joins the host's feature. Pure tensor functions; every scalar is a 0-dim tensor, nothing is read
// by the host, so one program serves all stages. Training thread.
//
// h: the host's feature. x: h as the seed sees it, equal to h in value. s: the seed's output. All of one shape:
// [batch, channels], [batch, channels, height, width] or [batch, tokens, channels]. a: alpha. g: a learned gate, 0..1.
//
//   ADD       h + a (s - x)         the gradient along h stays 1 while x is isolated, at alpha 1 too
//   CONVEX    h + a (s - h)         the gradient along h is 1 - a
//   RESIDUAL  h + a s               for modules that start at zero; one that starts neutral doubles h at alpha 1
//   MULTIPLY  h + a h tanh(s - x)
//   GATE      h + a g (s - h)       the gradient along h is 1 - a g
//
// At alpha 0 each is h + 0 * (...): the host's value exactly, as long as s is finite.

#include <torch/types.h>

#include "kasmina/host.h"
#include "leyline/config/growth_config.h"

namespace esper::kasmina {

// x.detach() + gate * (x - x.detach()): x in value, the gradient times gate. 0 shuts, 1 lets through.
torch::Tensor scale_gradient(const torch::Tensor& x, const torch::Tensor& gate);

struct Features {
  torch::Tensor host;        // h
  torch::Tensor seed_input;  // x
  torch::Tensor seed;        // s
  torch::Tensor gate;        // g; undefined unless GATE
};

// What is added to h at alpha 1.
torch::Tensor full_change(leyline::Composition kind, const Features& features);

// h + alpha * full_change(features).
torch::Tensor compose(leyline::Composition kind, const Features& features, const torch::Tensor& alpha);

// Zero in value; its gradient reaches the seed as if it were at alpha 1, times `amount`, and never h or x directly:
// amount * (f - f.detach()) with f = full_change at h.detach(), x.detach().
torch::Tensor straight_through(leyline::Composition kind, const Features& features, const torch::Tensor& amount);

// The learned gate of GATE, per channel: sigmoid(weight * pooled(x) + bias), weight and bias [channels]. Images are
// pooled over height and width; sequences keep their tokens, so no token sees a later one.
torch::Tensor channel_gate(FeatureKind kind, const torch::Tensor& x, const torch::Tensor& weight,
                           const torch::Tensor& bias);

}  // namespace esper::kasmina
