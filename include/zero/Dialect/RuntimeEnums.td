//===- RuntimeEnums.td - all enumerations of programs ------*- tablegen -*-===//
include "zero/Dialect/NN/NNEnums.td"
include "zero/Dialect/Zero/SharedEnums.td"
