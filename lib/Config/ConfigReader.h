//===- ConfigReader.h - From checked values to plain data -------*- C++ -*-===//
#ifndef ZERO_LIB_CONFIG_CONFIGREADER_H
#define ZERO_LIB_CONFIG_CONFIGREADER_H

#include "Validate.h"

namespace mlir::zero {

/// Options that no key stands for, by name.
using OtherOptions = llvm::StringMap<llvm::json::Value>;

/// Builds the configuration from `values`, which are validated; `root` is the
/// file that they came from. Faults between keys, such as batch sizes that do
/// not agree, are reported, unless they may follow from a key that is not
/// sound; the result counts only when there was no error.
TrainConfig readConfig(const llvm::json::Object &root,
                       const ConfigValues &values, const OtherOptions &options,
                       const ConfigContext &context, Reporter &reporter);

/// Reads the ranks and their axes into `config`: from the caller, the block
/// `zero.mesh` or `mics_shard_size`.
void readMesh(const llvm::json::Object &root, const ConfigValues &values,
              const ConfigContext &context, Reporter &reporter,
              TrainConfig &config);

/// Reads the ranks of a node for `zero_hpz_partition_size` into `config`, whose
/// stage and axes are read; ranks that have no mesh of their own become nodes.
void readSecondary(const ConfigValues &values, Reporter &reporter,
                   TrainConfig &config);

/// Reports what cannot stand beside an axis that cuts the model, by its key.
void checkModelAxes(const ConfigValues &values, Reporter &reporter,
                    const TrainConfig &config);

/// The axes within which quantized gradients are added up first.
void readGradientAxes(const ConfigValues &values, Reporter &reporter,
                      TrainConfig &config);

/// Reads what is quantized of gathers, of what is stored and of gradients into
/// `config`, whose stage and axes are read, and what is fed back.
void readQuantization(const ConfigValues &values, Reporter &reporter,
                      TrainConfig &config);

/// Reads the compute type into `config`.
void readPrecision(const ConfigValues &values, Reporter &reporter,
                   TrainConfig &config);

/// Reports a type of gradients that those of `config`, whose compute type and
/// micro-batches are read, do not have.
void readGradientType(const ConfigValues &values, Reporter &reporter,
                      TrainConfig &config);

/// Reads the scale of the loss into `config`, whose compute type is read.
void readLossScale(const ConfigValues &values, Reporter &reporter,
                   TrainConfig &config);

/// Reads the type that gradients travel in into `config`, whose ranks, stage,
/// compute type and micro-batches are read.
void readCommunicationType(const ConfigValues &values, Reporter &reporter,
                           TrainConfig &config);

/// Reads the optimizer and the schedule of its learning rate into `config`.
void readOptimizer(const llvm::json::Object &root, const ConfigValues &values,
                   Reporter &reporter, TrainConfig &config);

/// The key that says where optimizer states, or parameters, are offloaded to.
std::string findOffloadKey(const ConfigValues &values, bool ofParameters);

/// Reads what is offloaded into `config`, whose stage and state tiers are read.
void readOffload(const ConfigValues &values, Reporter &reporter,
                 TrainConfig &config);

/// Reads which activations are computed a second time into `config`.
void readCheckpoint(const ConfigValues &values, const OtherOptions &options,
                    Reporter &reporter, TrainConfig &config);

} // namespace mlir::zero

#endif // ZERO_LIB_CONFIG_CONFIGREADER_H
