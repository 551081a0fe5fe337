// RUN: zero-opt %s --split-input-file --verify-diagnostics

zero.parameter @w : tensor<4xf32> = #zero.zeros
// expected-error @+1 {{'zero.stored_tensor' op has the name of a parameter}}
zero.stored_tensor "w" of @w

// -----

// expected-error @+1 {{'zero.stored_tensor' op names @w, which is no 'zero.parameter'}}
zero.stored_tensor "tied" of @w

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
// expected-error @+1 {{'zero.stored_tensor' op is another name of @w and has a digest, wanted one of the two}}
zero.stored_tensor "tied" of @w digest "0123456789abcdef"

// -----

// expected-error @+1 {{'zero.stored_tensor' op has the digest "0123456789abcde", wanted 16 hexadecimal digits}}
zero.stored_tensor "mask" digest "0123456789abcde"

// -----

// expected-error @+1 {{'zero.stored_tensor' op has the digest "0123456789abcdeg", wanted 16 hexadecimal digits}}
zero.stored_tensor "mask" digest "0123456789abcdeg"

// -----

// expected-note @+1 {{here before}}
zero.stored_tensor "mask"
// expected-error @+1 {{'zero.stored_tensor' op is declared twice: "mask"}}
zero.stored_tensor "mask"

// -----

// expected-error @+1 {{'zero.stored_tensor' op has the name that weights files keep for their metadata; give it another one}}
zero.stored_tensor "__metadata__"
