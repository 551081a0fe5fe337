/* A training run as a library.
 *
 *   zero-compile model.mlir --config ds_config.json --ranks 2 --emit=shared -o
 * train.so
 *
 * writes a shared library with the functions of this header: the executable's
 * program and runtime, driven by the caller. All ranks are threads of the
 * caller's process.
 *
 * Errors. A function that can fail returns a `zero_status`, and
 * `zero_last_error` then has the message; the library never ends the process.
 * After ZERO_INVALID_ARGUMENT and ZERO_WRONG_STATE nothing has changed, and the
 * run goes on. After ZERO_FAILED from a function that trains or evaluates, the
 * run cannot go on: destroy it.
 *
 * Threads. Any thread may call any function. Calls with one run wait for each
 * other; `zero_run_destroy` must be the last. The library's own threads take no
 * signals. A process made by fork() cannot use its parent's runs.
 *
 * Structures that have a field `struct_size` may grow: set it to sizeof the
 * structure before the call. Strings that are returned live as long as the
 * library is loaded, unless said otherwise.
 */
#ifndef ZERO_H
#define ZERO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when functions or fields are added. A library can do what a caller of
 * an earlier version wants. */
#define ZERO_API_VERSION 9

typedef enum zero_status {
  ZERO_OK = 0,
  /* a name, shape, type or option is wrong, or a checkpoint cannot be loaded */
  ZERO_INVALID_ARGUMENT = 1,
  ZERO_WRONG_STATE = 2, /* not now, such as an update without a backward pass */
  ZERO_FAILED = 3,      /* a file, a kernel or a rank failed */
  ZERO_OUT_OF_MEMORY = 4 /* of the call; a rank without memory is ZERO_FAILED */
} zero_status;

typedef enum zero_type {
  ZERO_F32 = 0,
  ZERO_F16 = 1,
  ZERO_BF16 = 2,
  ZERO_F64 = 3,
  ZERO_BOOL = 4, /* a byte, 0 or 1 */
  ZERO_I8 = 5,
  ZERO_I32 = 6,
  ZERO_I64 = 7,
  ZERO_U16 = 8
} zero_type;

/* ZERO_API_VERSION of the library. */
int32_t zero_api_version(void);

/* The message of the calling thread's last call that failed; "" where none
 * has. Lives until the thread's next call. */
const char *zero_last_error(void);

/* -- What was compiled ---------------------------------------------------- */

/* What a library was compiled to do with gradients of micro-batches that its
 * caller has: zero.given_gradients of the configuration. */
typedef enum zero_given {
  ZERO_GIVEN_NONE = 0,   /* it takes none */
  ZERO_GIVEN_ADDED = 1,  /* adds them to those of the loss */
  ZERO_GIVEN_INSTEAD = 2 /* takes them, and computes none in updates */
} zero_given;

typedef struct zero_model {
  size_t struct_size;
  const char *name;
  int32_t stage;
  int32_t ranks;
  int32_t accumulation;   /* micro-batches of a rank in one update */
  int64_t micro_batch;    /* samples of a rank in one micro-batch */
  int64_t update_samples; /* micro_batch * ranks * accumulation */
  int32_t inputs;
  int32_t parameters;
  int32_t deterministic;
  int32_t outputs;         /* since version 2 */
  int32_t given_gradients; /* zero_given, since version 6 */
} zero_model;

zero_status zero_model_describe(zero_model *model);

/* An input or an output, of one micro-batch of one rank, or a parameter. */
typedef struct zero_tensor {
  size_t struct_size;
  const char *name;
  int32_t type; /* zero_type; of a parameter: that of the model */
  int32_t dimensions;
  const int64_t *shape;
  int64_t elements;
  int32_t trainable; /* 1: a parameter that updates change */
  int32_t states;    /* of a trainable parameter, what its optimizer keeps */
} zero_tensor;

/* `index` counts from 0. */
zero_status zero_model_input(int32_t index, zero_tensor *input);
zero_status zero_model_parameter(int32_t index, zero_tensor *parameter);
/* What an evaluation leaves: "loss", and what else the model names. */
zero_status zero_model_output(int32_t index, zero_tensor *output);

/* The name of state `state` of what the optimizer keeps of each element of
 * parameter `parameter`, "exp_avg". Master weights are not among them:
 * `zero_run_get_parameter` reads those. */
zero_status zero_model_state(int32_t parameter, int32_t state,
                             const char **name);

/* -- A run ---------------------------------------------------------------- */

typedef struct zero_run zero_run;

/* As the executable's flags of the same names. Zero stands for the default. */
typedef struct zero_options {
  size_t struct_size;
  uint64_t seed;      /* of initial values, data order and dropout */
  int32_t threads;    /* of a rank; 0: cores / ranks */
  int32_t overcommit; /* 1: start without enough memory */
  double loss_scale;  /* in every update; 0: as compiled */
  double timeout;     /* seconds without progress; 0: 600, negative: for ever */
  /* A safetensors file, or a folder of some, to start from; or NULL. A model
   * that was imported with weights makes no update and no evaluation before it
   * has some: from here, from a checkpoint, or as parameters that are set. */
  const char *weights;
  const char *nvme_path; /* the folder of states in files, or NULL */
  /* Since version 7: the first update and every so many are checked, and those
   * whose loss is odd; 0: none. What is wrong, and stays so, is ZERO_FAILED;
   * `zero_run_notices` tells what does not end the run. Updates are made in one
   * part then. */
  int64_t self_check;
} zero_options;

/* Makes the ranks and gives them initial values. `options` may be NULL. On
 * failure `*run` is NULL. */
zero_status zero_run_create(const zero_options *options, zero_run **run);

/* Ends the ranks and frees their memory. `run` may be NULL. */
void zero_run_destroy(zero_run *run);

/* One array of a batch: row-major, dense, borrowed during the call.
 *
 * Dimension 0 counts samples, the others are the input's. An input may come in
 * several arrays, which follow each other in the order given; each holds whole
 * micro-batches. Rank r of n reads, in micro-batch a, the samples from
 * (a * n + r) * micro_batch on. The type is the input's, ZERO_I64 for one of
 * ZERO_I32, or ZERO_F32 for one of 16-bit floats, where all values fit. */
typedef struct zero_array {
  const char *name; /* of the input */
  const void *data;
  int32_t type; /* zero_type */
  int32_t dimensions;
  const int64_t *shape;
} zero_array;

/* What an update did. */
typedef struct zero_update {
  size_t struct_size;
  int64_t update;       /* from 1, skipped ones included */
  double loss;          /* mean over the samples' micro-batches; NaN where
                           gradients were given instead */
  double gradient_norm; /* before clipping */
  double learning_rate; /* of the first parameter group that is trained */
  double loss_scale;    /* that multiplied this update's loss */
  double next_loss_scale;
  int32_t skipped; /* 1: a gradient was inf or NaN, nothing was updated */
  double seconds;
} zero_update;

/* Opens data by the rules of the executable's --data, without a part for
 * validation. Steps without arrays then read it: the samples that the
 * executable's updates of the same numbers read. Checkpoints say which data it
 * was; where one that was loaded had other data, `zero_run_notices` tells. */
zero_status zero_run_open_data(zero_run *run, const char *path);

/* The order in which data of `samples` samples is read: writes the numbers of
 * `count` samples, from position `first` of a sequence of epochs on, each of
 * which is a permutation by the run's seed. */
zero_status zero_run_order(zero_run *run, int64_t samples, int64_t first,
                           int64_t count, int64_t *numbers);

/* Says the same of `samples` samples that the caller has, and takes batches
 * from: `arrays` are three micro-batches, of which the first row of each is
 * sample 0, (samples - 1) / 2 and samples - 1. No arrays of 0 samples: what
 * comes next is of unknown data. Since version 8. */
zero_status zero_run_describe_data(zero_run *run, const zero_array *arrays,
                                   size_t count, int64_t samples);

/* One update on `update_samples` samples of every input, or, where `count` is
 * 0, on the next ones of the data that is open. `update` may be NULL. */
zero_status zero_run_step(zero_run *run, const zero_array *arrays, size_t count,
                          zero_update *update);

/* What the run has told since this was last called, a line each, and "" where
 * there is nothing: of faults that went away, of losses that are far off, and
 * of data that is not that of the checkpoint which was loaded. Lives until the
 * next call of this function with the run. Since version 7. */
zero_status zero_run_notices(zero_run *run, const char **notices);

/* The same update in two parts. After `zero_run_backward` all micro-batches are
 * done and all gradients are reduced, and nothing is updated; then state and
 * gradients can be read, and nothing else can be done until
 * `zero_run_update`. */
zero_status zero_run_backward(zero_run *run, const zero_array *arrays,
                              size_t count);
zero_status zero_run_update(zero_run *run, zero_update *update);

/* The gradient of a parameter for one micro-batch, before it is reduced: of the
 * mean loss of that micro-batch, whole, dense and f32, borrowed during the
 * call. It is multiplied by loss scale / micro-batches as a loss is, and
 * rounded to the type of the parameter's gradient; then it is reduced over
 * ranks, accumulated, clipped and used as those that the program computes. */
typedef struct zero_gradient {
  const char *name; /* of a parameter that is trained */
  /* In the order of a batch: micro-batch a of rank r of n has a * n + r. */
  int64_t micro_batch;
  const void *data;
  int32_t type; /* ZERO_F32 */
  int32_t dimensions;
  const int64_t *shape; /* the parameter's */
} zero_gradient;

/* The same with gradients, since version 6, of a library that was compiled to
 * take some. What is not given is 0: where they are added, a gradient is then
 * that of the loss. Where they are instead, there are no arrays. */
zero_status zero_run_step_gradients(zero_run *run, const zero_array *arrays,
                                    size_t count,
                                    const zero_gradient *gradients,
                                    size_t gradient_count, zero_update *update);
zero_status zero_run_backward_gradients(zero_run *run, const zero_array *arrays,
                                        size_t count,
                                        const zero_gradient *gradients,
                                        size_t gradient_count);

/* The learning rate of all parameter groups from the next update on, in the
 * place of the schedule's; below 0: the schedule's again. Checkpoints do not
 * have it. */
zero_status zero_run_set_learning_rate(zero_run *run, double rate);

typedef struct zero_group_rate {
  const char *group; /* a parameter group's name */
  double rate;
} zero_group_rate;

/* The same for some parameter groups, since version 9; others stay as they
 * are. Where one of the names is no group, none is set. */
zero_status zero_run_set_learning_rates(zero_run *run,
                                        const zero_group_rate *rates,
                                        size_t count);

/* How many updates were begun, those before a checkpoint that was loaded
 * included, and the position, in the sequence of epochs, of the first sample
 * of the next one. */
zero_status zero_run_position(zero_run *run, int64_t *updates,
                              int64_t *samples);

/* The mean loss over any whole number of micro-batches for each rank, without
 * dropout; changes nothing. */
zero_status zero_run_evaluate(zero_run *run, const zero_array *arrays,
                              size_t count, double *loss);

/* Room for an output of all micro-batches. They follow each other in the order
 * of the batch's samples, each as `zero_model_output` describes it: an output
 * whose dimension 0 is the micro-batch has a row for each sample. `bytes` must
 * be what all take. */
typedef struct zero_result {
  const char *name; /* of the output */
  void *data;
  size_t bytes;
} zero_result;

/* The same, and writes `result_count` outputs. `loss` may be NULL. */
zero_status zero_run_evaluate_outputs(zero_run *run, const zero_array *arrays,
                                      size_t count, const zero_result *results,
                                      size_t result_count, double *loss);

/* -- State, whole and as f32 ---------------------------------------------- */

/* Each copies all `elements` of the parameter `name`, whatever rank and memory
 * they are in. `elements` must be the parameter's. */

/* The master weight where there is one, else the parameter. */
zero_status zero_run_get_parameter(zero_run *run, const char *name,
                                   float *values, int64_t elements);
/* Rounds to the types that the program stores. The optimizer's state stays. */
zero_status zero_run_set_parameter(zero_run *run, const char *name,
                                   const float *values, int64_t elements);

/* What the optimizer keeps of a parameter; `zero_model_state` has the names. */
zero_status zero_run_get_state(zero_run *run, const char *name,
                               const char *state, float *values,
                               int64_t elements);
zero_status zero_run_set_state(zero_run *run, const char *name,
                               const char *state, const float *values,
                               int64_t elements);

/* The gradient of a parameter that is trained, between `zero_run_backward` and
 * `zero_run_update`: the mean over the update's samples, without the loss scale
 * and before clipping. */
zero_status zero_run_get_gradient(zero_run *run, const char *name,
                                  float *values, int64_t elements);

/* Sets it, rounded to the type in which the program keeps its sum. The norm and
 * clipping of the update are those of the gradients that are there then. */
zero_status zero_run_set_gradient(zero_run *run, const char *name,
                                  const float *values, int64_t elements);

/* -- State of one rank, as f32 -------------------------------------------- */

/* The same of the elements that rank `rank` answers for. `what` is
 * "parameter", "gradient", or the name of what the optimizer keeps. Every
 * element is one rank's: where ranks store slices, a rank has its slices; where
 * all store the whole, each has an equal part, and setting it sets all of
 * them. */

/* `count` elements of a parameter, row-major, from `element` on. */
typedef struct zero_piece {
  int64_t element;
  int64_t count;
} zero_piece;

/* Writes the first `room` of the rank's pieces, in rising order, and how many
 * there are to `*count`. `pieces` may be NULL where `room` is 0. */
zero_status zero_run_local_pieces(zero_run *run, int32_t rank, const char *name,
                                  const char *what, zero_piece *pieces,
                                  int64_t room, int64_t *count);

/* Copies the elements of all of these pieces, one after the other; `elements`
 * must be their number. */
zero_status zero_run_get_local(zero_run *run, int32_t rank, const char *name,
                               const char *what, float *values,
                               int64_t elements);
zero_status zero_run_set_local(zero_run *run, int32_t rank, const char *name,
                               const char *what, const float *values,
                               int64_t elements);

/* All parameters, as a safetensors file. */
zero_status zero_run_save_weights(zero_run *run, const char *path);

/* The whole state of the run as a checkpoint in `folder`, as the executable's
 * --checkpoint; of older ones the newest `keep` stay, or all where it is 0. */
zero_status zero_run_save_checkpoint(zero_run *run, const char *folder,
                                     int64_t keep);

/* Goes on from the newest complete checkpoint of `folder`, of whatever stage
 * and number of ranks. The seed must be that of the run that saved it. A
 * checkpoint that is damaged or of another model is ZERO_INVALID_ARGUMENT, and
 * so is a newer one beside it that would be passed over: nothing has changed.
 */
zero_status zero_run_load_checkpoint(zero_run *run, const char *folder);

#ifdef __cplusplus
}
#endif

#endif /* ZERO_H */
