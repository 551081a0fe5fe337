// RUN: zero-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{is of stage 2, wanted a place of an axis 'pipe' of #zero.axes<pipe = 2, data = 1>}}
zero.mesh @mesh <pipe = 2, data = 1> stage 2 order "1f1b"

// -----

// expected-error@+1 {{is of stage 0, wanted a place of an axis 'pipe' of #zero.axes<data = 1>}}
zero.mesh @mesh <data = 1> stage 0 order "1f1b"

// -----

// expected-error@+1 {{has the order "zigzag", wanted one of 1f1b, gpipe, interleaved}}
zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "zigzag"

// -----

// expected-error@+1 {{has the axes #zero.axes<pipe = 2> alone, wanted one whose ranks have samples of their own, such as data = 1}}
zero.mesh @mesh <pipe = 2>

// -----

func.func @nowhere(%x: tensor<4xf32>) {
  // expected-error@+1 {{is about a stage of a pipeline, and no 'zero.mesh' says which one this is; zero-cut-pipeline makes the stages}}
  %p = zero.start_send %x as "x" : tensor<4xf32> -> <>
  zero.wait %p : <>
  return
}

// -----

zero.mesh @mesh <pipe = 2, data = 1> stage 1 order "1f1b"
func.func @behind_the_last(%x: tensor<4xf32>) {
  // expected-error@+1 {{is between stage 1 and stage 2, and there are 2 stages, from 0 on}}
  %p = zero.start_send %x as "x" : tensor<4xf32> -> <>
  zero.wait %p : <>
  return
}

// -----

zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "1f1b"
func.func @before_the_first() -> tensor<4xf32> {
  // expected-error@+1 {{is between stage 0 and stage -1, and there are 2 stages, from 0 on}}
  %p = zero.start_receive "x" : <tensor<4xf32>>
  %x = zero.wait %p : <tensor<4xf32>>
  return %x : tensor<4xf32>
}

// -----

zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "1f1b"
func.func @gives(%x: tensor<4xf32>) {
  // expected-error@+1 {{wanted a pending without tensors}}
  %p = zero.start_send %x as "x" : tensor<4xf32> -> <tensor<4xf32>>
  return
}

// -----

zero.mesh @mesh <pipe = 2, data = 1> stage 1 order "1f1b"
func.func @gives_nothing() {
  // expected-error@+1 {{wanted one tensor of static shape}}
  %p = zero.start_receive "x" : <>
  return
}

// -----

// A model, or the last stage, has a loss.
zero.mesh @mesh <pipe = 2, data = 1> stage 1 order "1f1b"
zero.step @train(%x: tensor<4xf32>) {
  // expected-error@+1 {{has no loss to yield}}
  zero.yield
}

// -----

zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "1f1b"
zero.step @train(%x: tensor<4xf32>) {
  // expected-error@+1 {{has a weight or outputs and no loss; the last stage of the pipeline has them}}
  zero.yield outputs []
}

// -----

zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "1f1b"
zero.step @train(%x: tensor<4xf32>) {
  zero.micro {
    zero.yield
  }
  // expected-error@+1 {{stands behind 'zero.micro', which runs after it}}
  zero.forward {
  }
  zero.apply {
  }
}

// -----

// expected-error@+1 {{has 1 chunk with the order "interleaved", wanted 2 or more}}
zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "interleaved"

// -----

// expected-error@+1 {{has 2 chunks with the order "1f1b", wanted 1}}
zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "1f1b" chunks 2

// -----

zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "interleaved" chunks 2
zero.step @train(%x: tensor<4xf32>) {
  zero.forward {
  }
  // expected-error@+1 {{is a pass through chunk 0, wanted chunk 1: forward passes from chunk 0 on, and backward passes to it}}
  zero.forward {
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

// -----

zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "interleaved" chunks 2
zero.step @train(%x: tensor<4xf32>) {
  zero.forward {
  }
  zero.forward chunk 1 {
  }
  // expected-error@+1 {{is a pass through chunk 0, wanted chunk 1}}
  zero.micro {
    zero.yield
  }
  zero.micro chunk 1 {
    zero.yield
  }
  zero.apply {
  }
}

// -----

zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "interleaved" chunks 2
// expected-error@+1 {{a schedule needs a 'zero.micro' for each 'zero.forward' and one 'zero.apply', found 1 and 1}}
zero.step @train(%x: tensor<4xf32>) {
  zero.forward {
  }
  zero.forward chunk 1 {
  }
  zero.micro chunk 1 {
    zero.yield
  }
  zero.apply {
  }
}

// -----

// Of the last stage the last chunk has the loss.
zero.mesh @mesh <pipe = 2, data = 1> stage 1 order "interleaved" chunks 2
zero.step @train(%x: tensor<4xf32>) {
  zero.forward {
  }
  zero.forward chunk 1 {
  }
  zero.micro chunk 1 {
    // expected-error@+1 {{has no loss to yield}}
    zero.yield
  }
  zero.micro {
    zero.yield
  }
  zero.apply {
  }
}
