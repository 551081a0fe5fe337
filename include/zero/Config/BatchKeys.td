//===- BatchKeys.td - the keys of samples and micro-batches --------*- tablegen -*-===//

def : Key<"train_batch_size", Count, "null",
    "samples per update, over all ranks; any two of the three batch keys determine "
    "the third">;
def : Key<"train_micro_batch_size_per_gpu", Count, "null",
    "samples per micro-batch and rank; when absent, the model's batch dimension">,
    Field<Run, "microBatch">;
def : Key<"gradient_accumulation_steps", Count, "null", "micro-batches per update">,
    Field<Run, "accumulation">, Option<"accumulation">;
def : Key<"managed_gradient_accumulation", Bool, "true",
    "count micro-batches and update after the last one">,
    Refused<"the update is part of the compiled step; leave it out">;
def : Key<"dataloader_drop_last", Bool, "false", "drop the last incomplete batch">,
    NoEffect<"every sample of an update is a function of the seed; there is no "
      "incomplete batch">;
