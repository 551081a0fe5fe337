// RUN: zero-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect

// (C7) of zero.partition, and what is no tier.

zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-error @+1 {{has the states [exp_avg f32], wanted [exp_avg f32, exp_avg_sq f32]}}
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
  states [exp_avg f32]

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-error @+1 {{has the states [exp_avg_sq f32, exp_avg f32], wanted [exp_avg f32, exp_avg_sq f32]}}
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
  states [exp_avg_sq f32, exp_avg f32]

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-error @+1 {{has the states [exp_avg bf16, exp_avg_sq f32], wanted [exp_avg f32, exp_avg_sq f32]}}
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
  states [exp_avg bf16, exp_avg_sq f32]

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-error @+1 {{has the states [exp_avg f32, exp_avg_sq f32], wanted [master f32, exp_avg f32, exp_avg_sq f32]}}
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute bf16 gradient bf16 optimizer #zero.adam<>
  states [exp_avg f32, exp_avg_sq f32]

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-error @+1 {{has the states [exp_avg f32], wanted []}}
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 
  states [exp_avg f32]

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-error @+1 {{state 'exp_avg' has the range [4 to 8], wanted one that begins at 0 and ends at a segment boundary}}
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
  states [exp_avg f32 [4 to 8], exp_avg_sq f32]

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-error @+1 {{state 'exp_avg' has the range [0 to 2], wanted one that begins at 0 and ends at a segment boundary}}
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
  states [exp_avg f32 [0 to 2] [2 to 8], exp_avg_sq f32]

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-error @+1 {{state 'exp_avg' has the range [0 to 8], wanted one that begins at 4 and ends at a segment boundary}}
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
  states [exp_avg f32 [0 to 4] [0 to 8], exp_avg_sq f32]

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-error @+1 {{state 'exp_avg' covers 4 of 8 elements}}
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
  states [exp_avg f32 [0 to 4], exp_avg_sq f32]

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-error @+1 {{state 'exp_avg' is at #zero.at<optimizer[0], 32 bytes>, wanted a place in the tier 'host'}}
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
  states [exp_avg f32 on host at #zero.at<optimizer[0], 32 bytes>, exp_avg_sq f32]

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
  // expected-error @+1 {{tier 'disk' is none of device, host, file}}
  states [exp_avg f32 on disk, exp_avg_sq f32]

// -----

// expected-error @+1 {{state_tiers has exp_avg = "disk", wanted one of "device", "host", "file"}}
"test.op"() {planning = #zero.planning<state_tiers = {exp_avg = "disk"}>} : () -> ()

// -----

// expected-error @+1 {{state_tiers has exp_avg = 1 : i64, wanted one of "device", "host", "file"}}
"test.op"() {planning = #zero.planning<state_tiers = {exp_avg = 1}>} : () -> ()
