// RUN: zero-opt %s -verify-diagnostics -allow-unregistered-dialect

// expected-error @+2 {{expected ::mlir::zero::MemoryTier to be one of: device, host, file}}
// expected-error @+1 {{failed to parse Zero_AtAttr parameter 'tier'}}
"test.place"() {at = #zero.at<optimizer[0] on disk, 64 bytes>} : () -> ()
