// RUN: zero-opt %s -allow-unregistered-dialect | zero-opt -allow-unregistered-dialect | FileCheck %s

// A place: the tier is printed unless it is the device.

// CHECK: "test.place"() {at = #zero.at<optimizer[128], 64 bytes>}
"test.place"() {at = #zero.at<optimizer[128] on device, 64 bytes>} : () -> ()
// CHECK: "test.place"() {at = #zero.at<optimizer[128] on host, 64 bytes stride 64>}
"test.place"() {at = #zero.at<optimizer[128] on host, 64 bytes stride 64>} : () -> ()
// CHECK: "test.place"() {at = #zero.at<parameters[0] on file, 0 bytes>}
"test.place"() {at = #zero.at<parameters[0] on file, 0 bytes>} : () -> ()
