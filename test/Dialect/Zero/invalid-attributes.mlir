// RUN: zero-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect

// One case for each bound of each attribute.

// expected-error @+1 {{the constant is 1e+39, wanted a number that f32 can hold}}
zero.parameter @constant : tensor<4xf32> = #zero.constant<1.0e39>

// -----

// expected-error @+1 {{mean is 1e+40, wanted a number that f32 can hold}}
zero.parameter @normal_mean : tensor<4xf32> = #zero.normal<mean = 1.0e40>

// -----

// expected-error @+1 {{std is -1, wanted a number from 0 to 3.4e38}}
zero.parameter @normal_std : tensor<4xf32> = #zero.normal<std = -1.0>

// -----

// expected-error @+1 {{low is 1 and high is 0, wanted low below high}}
zero.parameter @uniform : tensor<4xf32> = #zero.uniform<low = 1.0, high = 0.0>

// -----

// expected-error @+1 {{high is 1e+39, wanted a number that f32 can hold}}
zero.parameter @uniform_high : tensor<4xf32> = #zero.uniform<low = 0.0, high = 1.0e39>

// -----

// expected-error @+1 {{low is -1e+39, wanted a number that f32 can hold}}
zero.parameter @uniform_low : tensor<4xf32> = #zero.uniform<low = -1.0e39, high = 0.0>

// -----

// expected-error @+1 {{lr is -0.001, wanted a number from 0 to 3.4e38}}
zero.optimizer "adam_lr" = #zero.adam<lr = -0.001>

// -----

// expected-error @+1 {{beta1 is 3, wanted a number from 0 to below 1}}
zero.optimizer "adam_beta1" = #zero.adam<beta1 = 3.0>

// -----

// expected-error @+1 {{beta2 is 1, wanted a number from 0 to below 1}}
zero.optimizer "adam_beta2" = #zero.adam<beta2 = 1.0>

// -----

// expected-error @+1 {{eps is -1e-08, wanted a number from 0 to 3.4e38}}
zero.optimizer "adam_eps" = #zero.adam<eps = -1.0e-8>

// -----

// expected-error @+1 {{weight_decay is -0.1, wanted a number from 0 to 3.4e38}}
zero.optimizer "adam_weight_decay" = #zero.adam<weight_decay = -0.1>

// -----

// expected-error @+1 {{lr is 1e+39, wanted a number from 0 to 3.4e38}}
zero.optimizer "sgd_lr" = #zero.sgd<lr = 1.0e39>

// -----

// expected-error @+1 {{momentum is 1, wanted a number from 0 to below 1}}
zero.optimizer "sgd_momentum" = #zero.sgd<momentum = 1.0>

// -----

// expected-error @+1 {{weight_decay is -1, wanted a number from 0 to 3.4e38}}
zero.optimizer "sgd_weight_decay" = #zero.sgd<weight_decay = -1.0>

// -----

// expected-error @+1 {{nesterov needs a momentum above 0; give one or leave it out}}
zero.optimizer "sgd_nesterov" = #zero.sgd<nesterov = true>

// -----

// expected-error @+2 {{initial is 0, wanted a number above 0 that f32 can hold}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'loss_scale'}}
zero.step @loss_scale_initial(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, loss_scale = <initial = 0.0>> {
}

// -----

// expected-error @+2 {{initial is 1e-30, wanted 2^-64 or more}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'loss_scale'}}
zero.step @loss_scale_tiny(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, loss_scale = <initial = 1.0e-30>> {
}

// -----

// expected-error @+2 {{minimum is 0, wanted a number above 0 that f32 can hold}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'loss_scale'}}
zero.step @loss_scale_minimum(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, loss_scale = <minimum = 0.0>> {
}

// -----

// expected-error @+2 {{minimum is 4, above the first scale, 2}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'loss_scale'}}
zero.step @loss_scale_dynamic(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, loss_scale = <initial = 2.0, dynamic = true, minimum = 4.0>> {
}

// -----

// expected-error @+2 {{window is 0, wanted 1 or more}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'loss_scale'}}
zero.step @loss_scale_window(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, loss_scale = <window = 0>> {
}

// -----

// expected-error @+2 {{hysteresis is 0, wanted 1 or more}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'loss_scale'}}
zero.step @loss_scale_hysteresis(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, loss_scale = <hysteresis = 0>> {
}

// -----

// expected-error @+3 {{to be one of: constant, WarmupLR, WarmupDecayLR, WarmupCosineLR}}
// expected-error @+2 {{failed to parse Zero_ScheduleAttr parameter 'type'}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'schedule'}}
zero.step @schedule_type(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, schedule = <type = WarmUpTypo>> {
}

// -----

// expected-error @+2 {{min is -1, wanted a number from 0 to 3.4e38}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'schedule'}}
zero.step @schedule_min(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, schedule = <type = WarmupLR, min = -1.0>> {
}

// -----

// expected-error @+2 {{max is -2, wanted a number from 0 to 3.4e38}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'schedule'}}
zero.step @schedule_max(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, schedule = <type = WarmupLR, max = -2.0>> {
}

// -----

// expected-error @+2 {{warmup is -1, wanted 0 or more}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'schedule'}}
zero.step @schedule_warmup(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, schedule = <type = WarmupLR, warmup = -1>> {
}

// -----

// expected-error @+2 {{total is -1, wanted 0 or more}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'schedule'}}
zero.step @schedule_total(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, schedule = <type = WarmupLR, total = -1>> {
}

// -----

// expected-error @+2 {{WarmupDecayLR needs total, the updates of the whole run; wanted 1 or more}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'schedule'}}
zero.step @schedule_decay(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, schedule = <type = WarmupDecayLR>> {
}

// -----

// expected-error @+2 {{WarmupDecayLR has total = 9, fewer updates than its warmup of 1000: wanted the updates of the whole run}}
// expected-error @+1 {{failed to parse}}
zero.step @schedule_short(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, schedule = <type = WarmupDecayLR, total = 9>> {
  zero.yield %x : tensor<f32>
}

// -----

// expected-error @+2 {{WarmupCosineLR needs total}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'schedule'}}
zero.step @schedule_cosine(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, schedule = <type = WarmupCosineLR>> {
}

// -----

// expected-error @+2 {{warmup_min_ratio is -1, wanted a number from 0 to 3.4e38}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'schedule'}}
zero.step @schedule_warmup_min_ratio(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, schedule = <type = WarmupCosineLR, total = 9, warmup_min_ratio = -1.0>> {
}

// -----

// expected-error @+2 {{cos_min_ratio is -1, wanted a number from 0 to 3.4e38}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'schedule'}}
zero.step @schedule_cos_min_ratio(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, schedule = <type = WarmupCosineLR, total = 9, cos_min_ratio = -1.0>> {
}

// -----

// expected-error @+1 {{stage 4 is none of 0, 1, 2, 3}}
zero.step @training_stage(%x: tensor<f32>) training #zero.training<stage = 4, ranks = 1> {
}

// -----

// expected-error @+1 {{ranks is 2147483648, wanted 1 to 2147483647}}
zero.step @training_ranks(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 2147483648> {
}

// -----

// expected-error @+1 {{accumulation is 0, wanted 1 to 2147483647}}
zero.step @training_accumulation(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, accumulation = 0> {
}

// -----

// expected-error @+1 {{clip is -1, wanted a number from 0 to 3.4e38}}
zero.step @training_clip(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, clip = -1.0> {
}

// -----

// expected-error @+2 {{reduce_bucket_size is 0, wanted 1 or more}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'planning'}}
zero.step @planning_reduce(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, planning = <reduce_bucket_size = 0>> {
}

// -----

// expected-error @+2 {{allgather_bucket_size is 0, wanted 1 or more}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'planning'}}
zero.step @planning_allgather(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, planning = <allgather_bucket_size = 0>> {
}

// -----

// expected-error @+2 {{alignment is 0, wanted 1 to 2147483647}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'planning'}}
zero.step @planning_alignment(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, planning = <alignment = 0>> {
}

// -----

// expected-error @+2 {{max_reuse_distance is -1, wanted 0 or more}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'planning'}}
zero.step @planning_reuse(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, planning = <max_reuse_distance = -1>> {
}

// -----

// expected-error @+2 {{param_persistence_threshold is -1, wanted 0 or more}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'planning'}}
zero.step @planning_persistence(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, planning = <param_persistence_threshold = -1>> {
}

// -----

// expected-error @+2 {{model_persistence_threshold is -1, wanted 0 or more}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'planning'}}
zero.step @planning_model_persistence(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, planning = <model_persistence_threshold = -1>> {
}

// -----

// expected-error @+2 {{prefetch_bucket_size is -1, wanted 0 or more}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'planning'}}
zero.step @planning_prefetch(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, planning = <prefetch_bucket_size = -1>> {
}

// -----

// expected-error @+2 {{max_live_parameters is -1, wanted 0 or more}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'planning'}}
zero.step @planning_live(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, planning = <max_live_parameters = -1>> {
}

// -----

// expected-error @+2 {{gathers_in_flight is -1, wanted 0 or more}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'planning'}}
zero.step @planning_in_flight(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, planning = <gathers_in_flight = -1>> {
}

// -----

// expected-error @+2 {{machine is empty, wanted a name or a file}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'planning'}}
zero.step @planning_machine(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, planning = <machine = "">> {
}

// -----

// expected-error @+1 {{@w has 4 elements at -4, wanted 0 or more at 0 or behind}}
"test.holds"() {member = #zero.member<@w at -4 size 4>} : () -> ()

// -----

// expected-error @+1 {{@w has -4 elements at 0, wanted 0 or more at 0 or behind}}
"test.holds"() {member = #zero.member<@w at 0 size -4>} : () -> ()

// -----

// expected-error @+1 {{@w has 9223372036854775807 elements at 1, wanted}}
"test.holds"() {member = #zero.member<@w at 1 size 9223372036854775807>} : () -> ()

// -----

// expected-error @+1 {{elements [-2 to 2] of @w are none; wanted a range from 0 on}}
"test.holds"() {block = #zero.block<@w[-2 to 2]>} : () -> ()

// -----

// expected-error @+1 {{elements [2 to 2] of @w are none; wanted a range from 0 on}}
"test.holds"() {block = #zero.block<@w[2 to 2]>} : () -> ()

// -----

// expected-error @+1 {{offset is -64, wanted 0 or more}}
"test.holds"() {place = #zero.at<activations[-64], 4 bytes>} : () -> ()

// -----

// expected-error @+1 {{bytes is -4, wanted 0 or more}}
"test.holds"() {place = #zero.at<activations[0], -4 bytes>} : () -> ()

// -----

// expected-error @+1 {{stride is -4, wanted 0 or more}}
"test.holds"() {place = #zero.at<activations[0], 4 bytes stride -4>} : () -> ()

// -----

// expected-error @+1 {{folder is empty, wanted the one for files of states}}
"test.holds"() {files = #zero.files<folder = "">} : () -> ()

// -----

// expected-error @+1 {{block_bytes is 5000, wanted a multiple of 4096 up to 1073741824}}
"test.holds"() {files = #zero.files<folder = "/s", block_bytes = 5000>} : () -> ()

// -----

// expected-error @+1 {{block_bytes is 2147483648, wanted a multiple of 4096 up to 1073741824}}
"test.holds"() {files = #zero.files<folder = "/s", block_bytes = 2147483648>} : () -> ()

// -----

// expected-error @+1 {{queue_depth is 0, wanted 1 to 4096}}
"test.holds"() {files = #zero.files<folder = "/s", queue_depth = 0>} : () -> ()

// -----

// expected-error @+1 {{least_bytes is -1, wanted}}
"test.holds"() {files = #zero.files<folder = "/s", least_bytes = -1>} : () -> ()

// -----

// expected-error @+2 {{gradients_within is #zero.axes<replica = 2>, and there are no quantized_gradients}}
// expected-error @+1 {{failed to parse Zero_TrainingAttr parameter 'planning'}}
zero.step @gradients_within(%x: tensor<f32>) training #zero.training<stage = 2, ranks = 2, planning = <gradients_within = <replica = 2>>> {
}

// -----

// expected-error @+1 {{ratio is 5.000000e-01, wanted 1 with 'parameters', which only the host updates}}
"test.holds"() {offload = #zero.offload<ratio = 0.5, parameters = true>} : () -> ()

// -----

// expected-error @+1 {{parameter_files is given without 'parameters'}}
"test.holds"() {offload = #zero.offload<parameter_files = <>>} : () -> ()

// -----

// expected-error @+1 {{parameter_files is given without 'files', which says where they are}}
"test.holds"() {offload = #zero.offload<parameters = true, parameter_files = <>>} : () -> ()

// -----

// expected-error @+1 {{found no axes, wanted at least one}}
zero.mesh @mesh <>

// -----

func.func @places(%x: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'zero.at' must be an array of #zero.at, one a buffer}}
  %0 = arith.addf %x, %x {zero.at = 3 : i64} : tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{has results; yield outputs inside the body instead}}
"zero.step"() <{sym_name = "step_c1", function_type = (tensor<f32>) -> tensor<f32>}> ({
^bb0(%x: tensor<f32>):
  "zero.yield"(%x) : (tensor<f32>) -> ()
}) : () -> ()
