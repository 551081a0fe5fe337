//===- NNOps.td - all operations of the nn dialect ------------------------===//
#ifndef ZERO_DIALECT_NN_NNOPS_TD
#define ZERO_DIALECT_NN_NNOPS_TD

include "zero/Dialect/NN/NNActivationOps.td"
include "zero/Dialect/NN/NNAddedNormOps.td"
include "zero/Dialect/NN/NNAttentionOps.td"
include "zero/Dialect/NN/NNBatchNormOps.td"
include "zero/Dialect/NN/NNConvolutionOps.td"
include "zero/Dialect/NN/NNExpertOps.td"
include "zero/Dialect/NN/NNFusedOps.td"
include "zero/Dialect/NN/NNIndexOps.td"
include "zero/Dialect/NN/NNMatrixOps.td"
include "zero/Dialect/NN/NNNormalizationOps.td"
include "zero/Dialect/NN/NNPoolingOps.td"
include "zero/Dialect/NN/NNShapeOps.td"
include "zero/Dialect/NN/NNTokenOps.td"

#endif // ZERO_DIALECT_NN_NNOPS_TD
