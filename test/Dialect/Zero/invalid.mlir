// Parameters, partitions and steps that contradict themselves. schedule-invalid.test has
// the operations of a schedule.

// RUN: zero-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{type 'tensor<4xi32>' must have a static shape and float elements}}
zero.parameter @parameter_c1 : tensor<4xi32> = #zero.zeros

// -----

// expected-error @+1 {{initial value 1.000000e+00 : f32 is none of}}
zero.parameter @parameter_c2 : tensor<4xf32> = 1.0 : f32

// -----

// expected-error @+1 {{is no optimizer, wanted one such as #zero.adam<>}}
zero.optimizer "default" = #zero.ones

// -----

// expected-error @+1 {{argument 0 of type 'tensor<?xf32>' must be a ranked tensor of static shape}}
zero.step @step_c1(%x: tensor<?xf32>) {
}

// -----

// expected-error @+1 {{a schedule needs one 'zero.micro' and one 'zero.apply', found 1 and 0}}
zero.step @step_c2(%x: tensor<f32>) {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
}

// -----

zero.step @yield_c1(%x: tensor<2xf32>) {
  // expected-error @+1 {{the loss has type 'tensor<2xf32>', wanted tensor<f32>}}
  zero.yield %x : tensor<2xf32>
}

// -----

zero.step @yield_c2(%x: tensor<f32>) {
  // expected-error @+1 {{names 1 outputs but yields 0 after the loss}}
  zero.yield %x outputs ["logits"] : tensor<f32>
}

// -----

// expected-error @+1 {{arguments 0 and 2 are both the input 'x'; give each a 'zero.input' of its own}}
zero.step @step_c3(%a: tensor<f32> {zero.input = "x"}, %b: tensor<f32>, %c: tensor<f32> {zero.input = "x"}) {
  zero.yield %a : tensor<f32>
}

// -----

// expected-error @+1 {{arguments 0 and 1 are both the input 'input1'}}
zero.step @step_c3_default(%a: tensor<f32> {zero.input = "input1"}, %b: tensor<f32>) {
  zero.yield %a : tensor<f32>
}

// -----

zero.step @yield_c3(%x: tensor<f32>) {
  // expected-error @+1 {{has two outputs named "d"}}
  zero.yield %x, %x, %x outputs ["d", "d"] : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

zero.step @yield_c3_loss(%x: tensor<f32>) {
  // expected-error @+1 {{has two outputs named "loss"; the loss is named "loss"}}
  zero.yield %x, %x outputs ["loss"] : tensor<f32>, tensor<f32>
}

// -----

zero.step @yield_c3_metadata(%x: tensor<f32>) {
  // expected-error @+1 {{has an output named "__metadata__", as no tensor in a file can be; give it another one}}
  zero.yield %x, %x outputs ["__metadata__"] : tensor<f32>, tensor<f32>
}

// -----

zero.step @yield_c3_nameless(%x: tensor<f32>) {
  // expected-error @+1 {{has an output named ""}}
  zero.yield %x, %x outputs [""] : tensor<f32>, tensor<f32>
}

// -----

zero.step @load_c1(%x: tensor<f32>) {
  // expected-error @+1 {{names @missing, which is no 'zero.parameter'}}
  %w = zero.load @missing : tensor<4xf32>
  zero.yield %x : tensor<f32>
}

// -----

// expected-note @+1 {{parameter declared here}}
zero.parameter @w : tensor<4xf32> = #zero.zeros
zero.step @load_c2(%x: tensor<f32>) {
  // expected-error @+1 {{has type 'tensor<5xf32>' for a parameter of type 'tensor<4xf32>'}}
  %w = zero.load @w : tensor<5xf32>
  zero.yield %x : tensor<f32>
}

// -----

// expected-note @+1 {{kernel declared here}}
func.func private @k(tensor<2xf32>) -> tensor<2xf32>
zero.step @launch_c1(%x: tensor<f32>) {
  // expected-error @+1 {{has type '(tensor<f32>) -> tensor<f32>' but the kernel has '(tensor<2xf32>) -> tensor<2xf32>'}}
  %y = zero.launch @k(%x) : (tensor<f32>) -> tensor<f32>
  zero.yield %y : tensor<f32>
}

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
// expected-error @+1 {{segment [0, 5) does not split over 2 ranks}}
zero.partition @partition_c1 bucketed over 2 ranks stage 2 segments [0, 5]
  members [#zero.member<@w at 0 size 4>] compute f32 gradient f32

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
// expected-error @+1 {{member @w at 2 overlaps its neighbour or leaves the 4 elements}}
zero.partition @partition_c2 bucketed over 2 ranks stage 2 segments [0, 4]
  members [#zero.member<@w at 2 size 4>] compute f32 gradient f32

// -----

// expected-note @+1 {{parameter declared here}}
zero.parameter @w : tensor<4xf32> = #zero.zeros
// expected-error @+1 {{gives @w 3 elements, wanted 4}}
zero.partition @partition_c3 bucketed over 2 ranks stage 2 segments [0, 4]
  members [#zero.member<@w at 0 size 3>] compute f32 gradient f32

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
// expected-error @+1 {{splits the master of 'f16', wanted bf16, which is a prefix of f32}}
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4]
  members [#zero.member<@w at 0 size 4>] compute f16 gradient f16 split optimizer #zero.adam<>

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
zero.parameter @b : tensor<4xf32> = #zero.zeros
// expected-error @+1 {{member @b at 4 shares a segment, wanted segments of its own}}
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 4>, #zero.member<@b at 4 size 4>] compute f32 gradient f32

// -----

zero.parameter @w : tensor<2x4xf32> = #zero.zeros
zero.step @gradient_c3(%x: tensor<f32>, %g: tensor<4xf32>) {
  zero.micro {
    // expected-error @+1 {{gives 'tensor<4xf32>' as elements [6 to 10) of @w, wanted a range of its elements}}
    zero.gradient @w[6 to 10], %g : tensor<4xf32>
    zero.yield %x : tensor<f32>
  }
  zero.apply {
  }
}

// -----

zero.parameter @w : tensor<2x4xf32> = #zero.zeros
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32
zero.step @block_size(%x: tensor<f32>, %g: tensor<8xf32>) {
  zero.micro {
    // expected-error @+1 {{gradient of @w has 8 elements, wanted 4}}
    %p = zero.reduce_scatter @p0[4 to 8] of [@w] (%g : tensor<8xf32>) : <tensor<2xf32>>
    zero.yield %x : tensor<f32>
  }
  zero.apply {
  }
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-error @+1 {{is of stage 4, wanted 0 to 3}}
zero.partition @p0 whole over 2 ranks stage 4 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
zero.step @load_c3(%x: tensor<f32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{has type 'tensor<4xbf16>' and is from a 'tensor<4xf32>', wanted one type}}
  %w = "zero.load"(%y) {parameter = @w} : (tensor<4xf32>) -> tensor<4xbf16>
  zero.yield %x : tensor<f32>
}

// -----

zero.step @reads(%x: tensor<f32>) {
  // expected-error @+1 {{unknown attribute '"zero.reads"'}}
  %y = arith.addf %x, %x {zero.reads = [unit, unit]} : tensor<f32>
  zero.yield %y : tensor<f32>
}

// -----

// Upstream's verifier would crash at each of these.
zero.step @empty_group(%x: tensor<2x3xf32>, %loss: tensor<f32>) {
  // expected-error @+1 {{has an empty group of dimensions in its reassociation}}
  %y = tensor.expand_shape %x [[0, 1], []] output_shape [2, 3] : tensor<2x3xf32> into tensor<2x3xf32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.step @empty_first_group(%x: tensor<1x6xf32>, %loss: tensor<f32>) {
  // expected-error @+1 {{has an empty group of dimensions in its reassociation}}
  %y = tensor.expand_shape %x [[], [0, 1]] output_shape [2, 3] : tensor<1x6xf32> into tensor<2x3xf32>
  zero.yield %loss : tensor<f32>
}

// -----

// expected-error @+1 {{'zero.parameter' op has the name that weights files keep for their metadata; give it another one}}
zero.parameter @__metadata__ : tensor<4xf32> = #zero.zeros

// -----

// expected-error @+1 {{'zero.parameter' op has a name that is not UTF-8, as names in weights files are; give it another one}}
zero.parameter @"a\FFb" : tensor<4xf32> = #zero.zeros

// -----

// expected-error @+1 {{argument 0 has 'zero.input' = 3 : i64, wanted a name in quotes, in UTF-8}}
zero.step @input_number(%x: tensor<f32> {zero.input = 3}) {
  zero.yield %x : tensor<f32>
}

// -----

// expected-error @+1 {{argument 0 has the attribute 'zero.inputs', wanted 'zero.input' or one of another dialect}}
zero.step @input_unknown(%x: tensor<f32> {zero.inputs = "x"}) {
  zero.yield %x : tensor<f32>
}

// -----

// expected-error @+1 {{argument 0 has 'zero.input' = "", wanted a name in quotes, in UTF-8}}
zero.step @input_empty(%x: tensor<f32> {zero.input = ""}) {
  zero.yield %x : tensor<f32>
}

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
// expected-error @+1 {{'zero.partition' op holds parameters or gradients of 'index', wanted a float type such as f32}}
zero.partition @p0 whole over 2 ranks stage 0 segments [0, 4] members [#zero.member<@w at 0 size 4>] compute index gradient f32

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
// expected-error @+1 {{'zero.partition' op holds parameters or gradients of 'i32', wanted a float type such as f32}}
zero.partition @p0 whole over 2 ranks stage 0 segments [0, 4] members [#zero.member<@w at 0 size 4>] compute f32 gradient i32

// -----

// expected-error @+1 {{'zero.parameter' op is 'unused' and 'frozen': only a parameter that could be trained is unused; leave it out}}
zero.parameter @a : tensor<4xf32> = #zero.ones frozen unused

// -----

// expected-error @+1 {{'zero.parameter' op is 'unused' and an average: only a parameter that could be trained is unused; leave it out}}
zero.parameter @a : tensor<4xf32> = #zero.ones unused average 0.5

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
// expected-error @+1 {{segments must begin at 0 and not decrease}}
zero.partition @p0 bucketed over 2 ranks stage 2 segments [2, 4]
  members [#zero.member<@w at 0 size 4>] compute f32 gradient f32 optimizer #zero.adam<>

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
// expected-error @+1 {{member 5 : i64 is no #zero.member}}
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4]
  members [5] compute f32 gradient f32 optimizer #zero.adam<>

// -----

// expected-error @+1 {{attribute 'zero.parameters' must be names, of a module of stages}}
module attributes {zero.parameters = 3} {
}

// -----

zero.step @launch_of_nothing(%x: tensor<4xf32>) {
  // expected-error @+1 {{names @square, which is no function}}
  %q = zero.launch @square(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %loss = nn.reduce sum %q dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.mesh @mesh <pipe = 3, data = 1> stage 1 order "1f1b"
// expected-error @+1 {{is in stages [0, 2], wanted two or more, rising, among them that of its module, and no average}}
zero.parameter @w : tensor<4xf32> = #zero.zeros stages [0, 2]
