// What outlives a pass of a stage is in the stash, under one name.

// RUN: zero-opt %s --zero-verify-schedule --split-input-file --verify-diagnostics

module {
zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "1f1b"
zero.step @train(%x: tensor<4xf32>) training #zero.training<stage = 0, ranks = 1, accumulation = 2> {
  zero.forward {
    %y = arith.addf %x, %x : tensor<4xf32>
    // expected-note@+1 {{the other one}}
    %a = zero.stash %y as "y" : tensor<4xf32>
    // expected-error@+1 {{has the name "y" of another one}}
    %b = zero.stash %y as "y" : tensor<4xf32>
  }
  zero.micro {
    zero.yield
  }
  zero.apply {
  }
}
}

// -----

module {
zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "1f1b"
zero.step @train(%x: tensor<4xf32>) training #zero.training<stage = 0, ranks = 1, accumulation = 2> {
  zero.forward {
  }
  zero.micro {
    // expected-error@+1 {{takes "y", which no pass before puts there}}
    %y = zero.unstash "y" : tensor<4xf32>
    zero.yield
  }
  zero.apply {
  }
}
}

// -----

module {
zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "1f1b"
zero.step @train(%x: tensor<4xf32>) training #zero.training<stage = 0, ranks = 1, accumulation = 2> {
  zero.forward {
    // expected-note@+1 {{put there by this}}
    %a = zero.stash %x as "y" : tensor<4xf32>
  }
  zero.micro {
    // expected-error@+1 {{takes "y" as 'tensor<8xf32>', and it is 'tensor<4xf32>'}}
    %y = zero.unstash "y" : tensor<8xf32>
    zero.yield
  }
  zero.apply {
  }
}
}

// -----

module {
zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "1f1b"
zero.step @train(%x: tensor<4xf32>) training #zero.training<stage = 0, ranks = 1, accumulation = 2> {
  zero.forward {
    // expected-note@+1 {{made here}}
    %y = arith.addf %x, %x : tensor<4xf32>
    // expected-error@+1 {{is carried to another pass, and what it sends is not in the stash; wanted the result of a 'zero.stash'}}
    %p = zero.start_send %y as "y" : tensor<4xf32> -> <>
    zero.carry %p as "send y" : <>
  }
  zero.micro {
    %p = zero.carried "send y" : <>
    zero.wait %p : <>
    zero.yield
  }
  zero.apply {
  }
}
}

// -----

module {
zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "1f1b"
zero.step @train(%x: tensor<4xf32>) training #zero.training<stage = 0, ranks = 1, accumulation = 2> {
  zero.forward {
    %a = zero.stash %x as "y" : tensor<4xf32>
  }
  zero.micro {
    zero.yield
  }
  zero.apply {
  }
  zero.evaluate {
    // expected-error@+1 {{stands where no pass of a pipeline's stage is; wanted 'zero.micro', a backward pass}}
    %y = zero.unstash "y" : tensor<4xf32>
    zero.yield
  }
}
}

// -----

module {
zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "interleaved" chunks 3
// expected-error@+1 {{has 'zero.forward' for 2 chunks, and the mesh says that a stage has 3}}
zero.step @train(%x: tensor<4xf32>) training #zero.training<stage = 0, ranks = 1, accumulation = 2> {
  zero.forward {
  }
  zero.forward chunk 1 {
  }
  zero.micro chunk 1 {
    zero.yield
  }
  zero.micro {
    zero.yield
  }
  zero.apply {
  }
}
}
