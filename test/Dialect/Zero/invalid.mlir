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

zero.step @step_c2_between(%x: tensor<f32>) {
  // expected-error @+1 {{stands between the regions of a schedule}}
  %s = zero.loss_seed : tensor<f32>
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
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
// expected-note @+1 {{partition declared here}}
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 4>] compute f32 gradient f32
zero.step @reduce_c1(%x: tensor<f32>) {
  zero.micro {
    // expected-error @+1 {{range [0 to 3] does not begin and end at segment boundaries}}
    %r = zero.all_reduce @p0[0 to 3] : <tensor<3xf32>>
    %t = zero.wait %r : <tensor<3xf32>>
    zero.yield %x : tensor<f32>
  }
  zero.apply {
  }
}

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 4>] compute f32 gradient f32
zero.step @reduce_c2(%x: tensor<f32>, %g: tensor<4xf32>) {
  zero.micro {
    // expected-error @+1 {{parameter @w is no member inside [4 to 8] of @p0}}
    %r = zero.reduce_scatter @p0[4 to 8] of [@w] (%g : tensor<4xf32>) : <tensor<2xf32>>
    %t = zero.wait %r : <tensor<2xf32>>
    zero.yield %x : tensor<f32>
  }
  zero.apply {
  }
}

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 4>] compute f32 gradient f32
zero.step @reduce_scatter_c3(%x: tensor<f32>) {
  zero.micro {
    // expected-error @+1 {{wanted flat tensors of 2, 2 elements}}
    %r = zero.reduce_scatter @p0[0 to 8] : <tensor<4xf32>>
    %t = zero.wait %r : <tensor<4xf32>>
    zero.yield %x : tensor<f32>
  }
  zero.apply {
  }
}

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
zero.step @all_gather_c1(%x: tensor<f32>) {
  zero.micro {
    // expected-error @+1 {{gathers @w as 'tensor<2xf32>', wanted the shape of 'tensor<4xf32>'}}
    %r = zero.all_gather [@w] : <tensor<2xf32>>
    %t = zero.wait %r : <tensor<2xf32>>
    zero.yield %x : tensor<f32>
  }
  zero.apply {
  }
}

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4]
  members [#zero.member<@w at 0 size 4>] compute f32 gradient f32
zero.step @accumulate_c1(%x: tensor<f32>, %g: tensor<3xf32>) {
  zero.micro {
    // expected-error @+1 {{value has 3 elements for a range of 4}}
    zero.accumulate whole %g into @p0[0 to 4] : tensor<3xf32>
    zero.yield %x : tensor<f32>
  }
  zero.apply {
  }
}

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
zero.partition @p0 whole over 1 ranks stage 0 segments [0, 4]
  members [#zero.member<@w at 0 size 4>] compute f32 gradient f32
zero.step @update_untrained(%x: tensor<f32>) {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    %s = zero.grad_stats [@p0]
    %v = zero.judge %s clip 1.0 divisor 1.0
    // expected-error @+1 {{updates @p0, which has no optimizer}}
    zero.update @p0 if %v
  }
}

// -----

zero.step @last_before(%x: tensor<f32>) {
  // expected-error @+1 {{'last' stands once, after the 'zero.micro' that runs for the micro-batches before}}
  zero.micro last {
    zero.yield %x : tensor<f32>
  }
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
  }
}

// -----

zero.step @carry_c1(%x: tensor<f32>) {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    // expected-note @+1 {{taken here}}
    %p = zero.carried "p" : <>
    // expected-error @+1 {{carries what another region has started}}
    zero.carry %p as "q" : <>
  }
}

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4]
  members [#zero.member<@w at 0 size 4>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @grad_stats_bounds(%x: tensor<f32>) {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    // expected-error @+1 {{has 1 bounds for 1 partitions, wanted two each}}
    %s = zero.grad_stats [@p0] ranges [0]
  }
}

// -----

// expected-note @+2 {{partition declared here}}
zero.parameter @w : tensor<4xf32> = #zero.zeros
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4]
  members [#zero.member<@w at 0 size 4>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @grad_stats_c1(%x: tensor<f32>) {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    // expected-error @+1 {{range [0 to 2] does not begin and end at segment boundaries}}
    %s = zero.grad_stats [@p0] ranges [0, 2]
  }
}

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
zero.partition @p0 contiguous over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32
zero.step @bucketed_range(%x: tensor<f32>, %g: tensor<4xf32>) {
  zero.micro {
    // expected-error @+1 {{range [6 to 10] is none of the 8 elements of @p0}}
    %p = zero.bucketed_reduce @p0[6 to 10] of [@w] (%g : tensor<4xf32>) : <tensor<4xf32>>
    zero.yield %x : tensor<f32>
  }
  zero.apply {
  }
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-note @+1 {{partition declared here}}
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32
zero.step @refresh_c1(%x: tensor<f32>) {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    // expected-error @+1 {{range [2 to 8] does not begin and end at segment boundaries}}
    %p = zero.refresh @p0[2 to 8] : <>
  }
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32
zero.step @refresh_partition(%x: tensor<f32>) {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    // expected-error @+1 {{names @p1, which is no 'zero.partition'}}
    %p = zero.refresh @p1[0 to 8] : <>
  }
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32
zero.step @refresh_tensors(%x: tensor<f32>) {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    // expected-error @+1 {{wanted no tensors: what arrives is in what ranks keep}}
    %p = zero.refresh @p0[0 to 8] : <tensor<8xf32>>
  }
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32
zero.step @refresh_resident_parameter(%x: tensor<f32>) {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    // expected-error @+1 {{names @v, which is no 'zero.parameter'}}
    %p = zero.refresh_resident [@w, @v] : <>
  }
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32
zero.step @refresh_resident_tensors(%x: tensor<f32>) {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    // expected-error @+1 {{wanted no tensors: what arrives is in what ranks keep}}
    %p = zero.refresh_resident [@w] : <tensor<8xf32>>
  }
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p0 whole over 2 ranks stage 0 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32
zero.step @judge_clip(%x: tensor<f32>) {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    %s = zero.grad_stats [@p0]
    // expected-error @+1 {{clips at -1.000000e+00 : f64, wanted a finite number from 0 on}}
    %v = zero.judge %s clip -1.0 divisor 2.0
  }
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p0 whole over 2 ranks stage 0 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32
zero.step @judge_divisor(%x: tensor<f32>) {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    %s = zero.grad_stats [@p0]
    // expected-error @+1 {{divides by 0.000000e+00 : f64, wanted a finite number above 0}}
    %v = zero.judge %s clip 1.0 divisor 0.0
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

zero.step @grad_stats_of_nothing(%x: tensor<f32>) {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    // expected-error @+1 {{names no partition, and would keep what the update before has found; wanted one at least}}
    %s = zero.grad_stats []
  }
}

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4]
  members [#zero.member<@w at 0 size 4>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @judge_micro_batches(%x: tensor<f32>) {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    %s = zero.grad_stats [@p0]
    // expected-error @+1 {{has 0 micro-batches, wanted 1 or more}}
    %v = zero.judge %s clip 1.0 divisor 2.0 micro_batches 0
  }
}

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

zero.step @wait_for_other_types(%x: tensor<4xf32>) {
  zero.micro {
    %p = zero.all_to_all %x over <replica = 2> : tensor<4xf32> -> <tensor<4xf32>>
    // expected-error @+1 {{results must be the tensors of '!zero.pending<tensor<4xf32>>'}}
    %y = "zero.wait"(%p) : (!zero.pending<tensor<4xf32>>) -> tensor<8xf32>
    %loss = nn.reduce sum %y dims [0] : (tensor<8xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4]
  members [#zero.member<@w at 0 size 4>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @slice_of_parameters(%x: tensor<2xf32>) {
  zero.micro {
    // expected-error @+1 {{the form 'owned', and no other, names the bucket's parameters}}
    zero.accumulate slice %x into @p0[0 to 4] of [@w] : tensor<2xf32>
    %loss = nn.reduce sum %x dims [0] : (tensor<2xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}

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

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4]
  members [#zero.member<@w at 0 size 4>] compute f32 gradient f32
zero.step @accumulate_nothing(%x: tensor<f32>, %g: tensor<0xf32>) {
  zero.micro {
    // expected-error @+1 {{range [4 to 4] is empty}}
    zero.accumulate whole %g into @p0[4 to 4] : tensor<0xf32>
    zero.yield %x : tensor<f32>
  }
  zero.apply {
  }
}
