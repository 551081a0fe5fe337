//===- TrainingTest.cpp - what the verifier accepts trains ----------------===//
//
// Schedules of all stages run clean and train as stage 0 on one rank does.
//
//===----------------------------------------------------------------------===//

#include "TrainingTesting.h"

using namespace mlir;
using namespace mlir::zero;

TEST_F(TrainingTest, CorrectSchedulesTrainAsStageZeroDoes) {
  for (int64_t stage = 0; stage <= 3; ++stage)
    for (int64_t ranks = 1; ranks <= 5; ++ranks)
      for (int64_t accumulation : {1, 3})
        for (int variant = 0; variant < 7; ++variant) {
          bool contiguous = variant == 2 || variant == 5;
          Settings settings{stage,
                            ranks,
                            accumulation,
                            variant == 1 || variant == 6,
                            contiguous,
                            variant == 2 ? 3 : 0,
                            variant == 1 ? 12 : 0,
                            variant != 0,
                            variant == 3 ? 2 : 0,
                            variant >= 4};
          expectTrains(settings);
        }
}

TEST_F(TrainingTest, MeshesTrainAsStageZeroDoes) {
  for (int64_t stage = 0; stage <= 3; ++stage)
    for (auto [ranks, shards] :
         {std::pair(4, 2), std::pair(6, 2), std::pair(6, 3), std::pair(3, 1)})
      for (int variant = 0; variant < 4; ++variant) {
        Settings settings{stage, ranks, /*accumulation=*/2};
        settings.deterministic = variant == 1;
        settings.contiguous = variant == 2;
        settings.persistence = variant == 2 ? 3 : 0;
        settings.overlap = variant != 0;
        settings.blocks = variant == 3;
        settings.shards = shards;
        expectTrains(settings);
      }
}

TEST_F(TrainingTest, SecondaryPartitionsTrainAsStageZeroDoes) {
  for (auto [ranks, local] :
       {std::pair(4, 2), std::pair(6, 2), std::pair(6, 3), std::pair(3, 1)})
    for (int variant = 0; variant < 5; ++variant) {
      Settings settings{/*stage=*/3, ranks, /*accumulation=*/2};
      settings.persistence = variant == 1 ? 3 : 0;
      settings.reuse = variant == 2 ? 12 : 0;
      settings.overlap = variant > 0;
      settings.blocks = variant == 3;
      settings.local = local;
      settings.offload = settings.offloadParameters = variant == 4;
      OwningOpRef<ModuleOp> module = expectTrains(settings);
      size_t slices = 0;
      module->walk([&](SecondarySliceOp) { ++slices; });
      EXPECT_GT(slices, 0u);
    }
}

/// But for rounding, which the interpreter leaves out.
TEST_F(TrainingTest, QuantizedWeightsTrainAsStageZeroDoes) {
  for (int64_t ranks : {2, 3, 4, 6})
    for (int variant = 0; variant < 4; ++variant) {
      Settings settings{/*stage=*/3, ranks, /*accumulation=*/2};
      settings.overlap = variant > 0;
      settings.blocks = variant == 2;
      settings.local = variant == 3 && ranks > 3 ? 2 : 0;
      settings.quantized = variant != 1;
      settings.quantizedFrozen = variant != 0;
      OwningOpRef<ModuleOp> module = expectTrains(settings);
      size_t gathers = 0;
      module->walk([&](AllGatherOp op) {
        gathers += op.getQuantized() != std::nullopt;
      });
      EXPECT_GT(gathers, 0u);
      size_t stored = 0;
      for (PartitionOp partition : module->getOps<PartitionOp>())
        stored += partition.getQuantized() != std::nullopt;
      // A block is two elements, and a slice is padded to four.
      EXPECT_EQ(stored, variant != 0 ? 1u : 0u);
    }
}

TEST_F(TrainingTest, QuantizedGradientsTrainAsStageZeroDoes) {
  for (int64_t ranks : {2, 3, 4, 6})
    for (int64_t local : {0, 2, 3})
      for (int variant = 0; variant < 4; ++variant) {
        Settings settings{/*stage=*/3, ranks, /*accumulation=*/2};
        if (local && (ranks % local || ranks == local))
          continue;
        settings.overlap = variant > 0;
        settings.blocks = variant == 2;
        settings.persistence = variant == 3 ? 3 : 0;
        settings.local = local;
        settings.exchanged = true;
        settings.feedback = variant % 2;
        OwningOpRef<ModuleOp> module = expectTrains(settings);
        size_t steps[3] = {};
        module->walk([&](ExchangeGradientsOp op) {
          ++steps[static_cast<int>(op.getStep())];
        });
        EXPECT_EQ(steps[0] > 0, local == 0);
        EXPECT_EQ(steps[1] > 0, local > 0);
        EXPECT_EQ(steps[1], steps[2]);
      }
}

TEST_F(TrainingTest, OffloadedUpdatesTrainAsStageZeroDoes) {
  for (int64_t stage = 1; stage <= 3; ++stage)
    for (int64_t ranks : {1, 2, 3, 5})
      for (double part : {0.4, 1.0})
        for (bool overlap : {false, true}) {
          Settings settings{stage, ranks, /*accumulation=*/2};
          settings.overlap = overlap;
          settings.persistence = overlap ? 3 : 0;
          settings.offload = part;
          expectTrains(settings);
        }
}

TEST_F(TrainingTest, StatesInFilesTrainAsStageZeroDoes) {
  for (int64_t stage = 1; stage <= 3; ++stage)
    for (int64_t ranks : {1, 2, 3, 5})
      for (int variant = 0; variant < 3; ++variant) {
        Settings settings{stage, ranks, /*accumulation=*/2};
        settings.overlap = variant > 0;
        settings.offload = variant == 1 ? 0.4 : 1.0;
        settings.offloadParameters = stage == 3 && variant == 2;
        settings.files = true;
        OwningOpRef<ModuleOp> module = expectTrains(settings);
        size_t reads = 0;
        module->walk([&](ReadStatesOp) { ++reads; });
        EXPECT_GT(reads, 0u);
      }
}

TEST_F(TrainingTest, OffloadedParametersTrainAsStageZeroDoes) {
  for (int64_t ranks : {1, 2, 3, 5})
    for (int64_t persistence : {0, 3})
      for (bool overlap : {false, true}) {
        Settings settings{/*stage=*/3, ranks, /*accumulation=*/2};
        settings.overlap = overlap;
        settings.persistence = persistence;
        settings.offload = 1;
        settings.offloadParameters = true;
        OwningOpRef<ModuleOp> module = expectTrains(settings);
        size_t uploads = 0;
        module->walk([&](UploadOp) { ++uploads; });
        EXPECT_GT(uploads, 0u);
      }
}

TEST_F(TrainingTest, OffloadedParametersOfMeshesTrainAsStageZeroDoes) {
  for (auto [ranks, shards] :
       {std::pair(4, 2), std::pair(6, 3), std::pair(3, 1)})
    for (bool overlap : {false, true}) {
      Settings settings{/*stage=*/3, ranks, /*accumulation=*/2};
      settings.overlap = overlap;
      settings.persistence = overlap ? 3 : 0;
      settings.shards = shards;
      settings.offload = 1;
      settings.offloadParameters = true;
      expectTrains(settings);
    }
}

TEST_F(TrainingTest, ParametersInFilesTrainAsStageZeroDoes) {
  for (int64_t ranks : {1, 2, 3, 5})
    for (int64_t persistence : {0, 3})
      for (bool overlap : {false, true})
        for (int variant = 0; variant < 3; ++variant) {
          Settings settings{/*stage=*/3, ranks, /*accumulation=*/2};
          settings.overlap = overlap;
          settings.persistence = persistence;
          settings.blocks = variant == 1;
          if (variant == 2 && ranks < 5) {
            settings.ranks = 2 * ranks;
            settings.shards = ranks > 1 ? ranks : 2;
          }
          settings.offload = 1;
          settings.offloadParameters = settings.files = true;
          settings.parameterFiles = true;
          OwningOpRef<ModuleOp> module = expectTrains(settings);
          size_t reads = 0;
          module->walk([&](ReadParametersOp) { ++reads; });
          EXPECT_GT(reads, 0u);
        }
}

TEST_F(TrainingTest, OffloadedActivationsTrainAsStageZeroDoes) {
  for (int64_t stage = 0; stage <= 3; ++stage)
    for (int64_t ranks : {1, 2, 3, 5})
      for (bool overlap : {false, true}) {
        Settings settings{stage, ranks, /*accumulation=*/2};
        settings.overlap = overlap;
        settings.recompute = 1;
        settings.offloadActivations = true;
        OwningOpRef<ModuleOp> module = expectTrains(settings);
        size_t fetches = 0;
        module->walk([&](FetchOp) { ++fetches; });
        EXPECT_GT(fetches, 0u);
      }
}
