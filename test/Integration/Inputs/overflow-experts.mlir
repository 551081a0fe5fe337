// Tokens looked up, experts that a router which is not trained sends them to, and classes.

!tokens = tensor<2x16xi32>
!flat = tensor<32x8xf32>

zero.parameter @table : tensor<32x8xf32> = #zero.zeros frozen
zero.parameter @router : tensor<4x8xf32> = #zero.zeros frozen
zero.parameter @up : tensor<4x16x8xf32> = #zero.zeros
zero.parameter @down : tensor<4x8x16xf32> = #zero.zeros
zero.parameter @head : tensor<8x32xf32> = #zero.zeros

zero.step @train(%ids: !tokens {zero.input = "input_ids"}, %labels: !tokens {zero.input = "labels"}) {
  %table = zero.load @table : tensor<32x8xf32>
  %x = nn.embedding %ids, %table : (!tokens, tensor<32x8xf32>) -> tensor<2x16x8xf32>
  %flat = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x16x8xf32> into !flat
  %router = zero.load @router : tensor<4x8xf32>
  %scores = nn.linear %flat, %router transposed : (!flat, tensor<4x8xf32>) -> tensor<32x4xf32>
  %shares = nn.softmax %scores : tensor<32x4xf32>
  %choice = nn.argsort %shares descending first 1 : tensor<32x4xf32> -> tensor<32x1xi32>
  %share = nn.gather %shares, %choice dim 1 : (tensor<32x4xf32>, tensor<32x1xi32>) -> tensor<32x1xf32>
  %sent, %places, %ends = nn.dispatch %flat, %choice experts 4 : (!flat, tensor<32x1xi32>) -> (!flat, tensor<32x1xi32>, tensor<4xi32>)
  %up = zero.load @up : tensor<4x16x8xf32>
  %wide = nn.grouped_matmul %sent, %up offsets %ends transpose_b : (!flat, tensor<4x16x8xf32>, tensor<4xi32>) -> tensor<32x16xf32>
  %act = nn.gelu tanh %wide : tensor<32x16xf32>
  %down = zero.load @down : tensor<4x8x16xf32>
  %narrow = nn.grouped_matmul %act, %down offsets %ends transpose_b : (tensor<32x16xf32>, tensor<4x8x16xf32>, tensor<4xi32>) -> !flat
  %y = nn.combine %narrow, %places weights %share : (!flat, tensor<32x1xi32>, tensor<32x1xf32>) -> !flat
  %head = zero.load @head : tensor<8x32xf32>
  %logits = nn.linear %y, %head : (!flat, tensor<8x32xf32>) -> tensor<32x32xf32>
  %targets = tensor.collapse_shape %labels [[0, 1]] : !tokens into tensor<32xi32>
  %loss, %lse = nn.cross_entropy %logits, %targets : (tensor<32x32xf32>, tensor<32xi32>) -> (tensor<f32>, tensor<32xf32>)
  zero.yield %loss : tensor<f32>
}
