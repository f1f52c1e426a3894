#pragma once
// The folded network's large products in bf16, with sums in fp32, where the processor has instructions for them
// (AVX-512 BF16, AMX): half as many bytes of weights are read, and oneDNN keeps them in the order in which it reads
// them. Any thread.

#include "tamiyo/network/folded_weights.h"

namespace esper::tamiyo {

// False on processors where oneDNN has no such products.
bool has_bf16_products();

// The same weights with the layers' matrices in bf16, half the memory. For run_folded(), eagerly: oneDNN's order of the
// numbers is not a strided tensor's, so this form is neither recorded nor compiled. has_bf16_products() is true.
FoldedWeights in_bf16(FoldedWeights weights);

// matrix: [rows, nodes]; x: [nodes, width before]; the rows of the layer's targets, [rows, width before], in the type
// of the layer's products.
at::Tensor aggregate(const at::Tensor& matrix, const at::Tensor& x, const FoldedLayer& layer);

// rows: [nodes, FoldedTarget::inputs]; [nodes, width after], fp32.
at::Tensor product(const at::Tensor& rows, const FoldedTarget& target);

}  // namespace esper::tamiyo
