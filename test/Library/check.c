/* Calls of zero.h that are refused, on the model tiny-mlp of 2 ranks; prints
 * status and message of each. */
#include "zero.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void expect(zero_status found, zero_status wanted, const char *what) {
  if (found == wanted)
    return;
  ++failures;
  printf("%s: found status %d, wanted %d: %s\n", what, found, wanted,
         zero_last_error());
}

static void refused(zero_status status, const char *what) {
  printf("%s: %d: %s\n", what, status, zero_last_error());
}

static const float xs[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const float ys[4] = {1, 0, 1, 0};
static const int64_t x_shape[2] = {4, 3}, y_shape[2] = {4, 1};
static const zero_array right[2] = {{"x", xs, ZERO_F32, 2, x_shape},
                                    {"y", ys, ZERO_F32, 2, y_shape}};

static void check_arrays(zero_run *run) {
  const int64_t narrow[2] = {6, 2}, odd[2] = {3, 3}, few[2] = {2, 3},
                few_y[2] = {2, 1};
  zero_array batch[3];
#define TRY(what, count, change)                                               \
  memcpy(batch, right, sizeof right);                                          \
  memcpy(batch + 2, right, sizeof *right);                                     \
  change;                                                                      \
  refused(zero_run_step(run, batch, count, NULL), what)
  TRY("name", 2, batch[0].name = "z");
  TRY("missing", 1, (void)0);
  TRY("shape", 2, batch[0].shape = narrow);
  TRY("dimensions", 2, batch[0].dimensions = 1);
  TRY("micro-batches", 2, batch[0].shape = odd);
  TRY("type", 2, batch[0].type = ZERO_F64);
  TRY("no type", 2, batch[0].type = 99);
  TRY("no data", 2, batch[0].data = NULL);
  TRY("disagree", 2, batch[0].shape = few);
  TRY("few", 2, (batch[0].shape = few, batch[1].shape = few_y));
  TRY("twice", 3, (void)0);
  refused(zero_run_step(run, NULL, 0, NULL), "no data open");
  refused(zero_run_step(run, NULL, 1, NULL), "no arrays");
}

static void check_parameters(zero_run *run) {
  float values[3], huge[3] = {1, 2, 3};
  refused(zero_run_get_parameter(run, "fc9.w", values, 3), "no parameter");
  refused(zero_run_get_parameter(run, "fc1.w", values, 2), "room");
  refused(zero_run_get_parameter(run, "fc1.w", NULL, 3), "null");
  expect(zero_run_set_parameter(run, "fc1.w", huge, 3), ZERO_OK, "set");
  expect(zero_run_get_parameter(run, "fc1.w", values, 3), ZERO_OK, "get");
  expect(memcmp(values, huge, sizeof huge) ? ZERO_FAILED : ZERO_OK, ZERO_OK,
         "what was set is there");
}

/* Each sees the first's effect: the run goes on after what was refused. */
static void check_updates(zero_run *run) {
  zero_update unsized = {0}, update = {sizeof update};
  refused(zero_run_step(run, right, 2, &unsized), "struct_size");
  expect(zero_run_step(run, right, 2, &update), ZERO_OK, "step");
  printf("update %lld\n", (long long)update.update);
  refused(zero_run_set_learning_rate(run, NAN), "rate");
  expect(zero_run_set_learning_rate(run, 0), ZERO_OK, "rate");
  const zero_group_rate rates[2] = {{"default", 0}, {"head", 1}};
  refused(zero_run_set_learning_rates(run, rates, 2), "group");
  expect(zero_run_set_learning_rates(run, rates, 1), ZERO_OK, "rates");
  /* An earlier version's structure ends earlier. */
  zero_update old = {offsetof(zero_update, gradient_norm)};
  old.gradient_norm = -5;
  expect(zero_run_step(run, right, 2, &old), ZERO_OK, "step");
  expect(zero_run_set_learning_rate(run, -1), ZERO_OK, "rate");
  printf("update %lld norm %g\n", (long long)old.update, old.gradient_norm);
  /* The same samples as four arrays: two micro-batches of two inputs. */
  const int64_t half_x[2] = {2, 3}, half_y[2] = {2, 1};
  const zero_array halves[4] = {{"x", xs, ZERO_F32, 2, half_x},
                                {"y", ys, ZERO_F32, 2, half_y},
                                {"x", xs + 6, ZERO_F32, 2, half_x},
                                {"y", ys + 2, ZERO_F32, 2, half_y}};
  double whole = 0, parts = 1;
  expect(zero_run_evaluate(run, right, 2, &whole), ZERO_OK, "evaluate");
  expect(zero_run_evaluate(run, halves, 4, &parts), ZERO_OK, "evaluate");
  printf("in parts: %s\n", whole == parts ? "equal" : "different");
}

static void check_gradients(zero_run *run) {
  float gradient[3], before[3], between[3], state[3];
  zero_update update = {sizeof update};
  refused(zero_run_update(run, NULL), "no backward");
  refused(zero_run_get_gradient(run, "fc1.w", gradient, 3), "no gradient");
  expect(zero_run_get_parameter(run, "fc1.w", before, 3), ZERO_OK, "get");
  expect(zero_run_backward(run, right, 2), ZERO_OK, "backward");
  refused(zero_run_step(run, right, 2, NULL), "held");
  refused(zero_run_save_weights(run, "unused"), "held");
  expect(zero_run_get_gradient(run, "fc1.w", gradient, 3), ZERO_OK, "gradient");
  expect(zero_run_get_parameter(run, "fc1.w", between, 3), ZERO_OK, "get");
  expect(memcmp(before, between, sizeof before) ? ZERO_FAILED : ZERO_OK,
         ZERO_OK, "nothing is updated yet");
  expect(zero_run_update(run, &update), ZERO_OK, "update");
  double square = 0;
  for (int i = 0; i < 3; ++i)
    square += (double)gradient[i] * gradient[i];
  double norm = update.gradient_norm * update.gradient_norm;
  printf("norm: %s\n", square > 0.999 * norm && square < 1.001 * norm
                           ? "equal"
                           : "different");
  expect(zero_run_get_parameter(run, "fc1.w", between, 3), ZERO_OK, "get");
  expect(memcmp(before, between, sizeof before) ? ZERO_OK : ZERO_FAILED,
         ZERO_OK, "now it is updated");
  expect(zero_run_get_state(run, "fc1.w", "exp_avg", state, 3), ZERO_OK,
         "state");
  refused(zero_run_get_state(run, "fc1.w", "momentum", state, 3), "no state");
  expect(zero_run_set_state(run, "fc1.w", "exp_avg", gradient, 3), ZERO_OK,
         "set a state");
  expect(zero_run_get_state(run, "fc1.w", "exp_avg", state, 3), ZERO_OK,
         "state");
  expect(memcmp(state, gradient, sizeof state) ? ZERO_FAILED : ZERO_OK, ZERO_OK,
         "the state that was set is there");
}

/* Predictions are the inputs times the weight. */
static void check_outputs(zero_run *run) {
  zero_model model = {sizeof model};
  zero_tensor output = {sizeof output};
  float predicted[4], weight[3];
  const zero_result room = {"prediction", predicted, sizeof predicted};
  const zero_result unknown = {"predictions", predicted, sizeof predicted};
  const zero_result small = {"prediction", predicted, 4};
  double loss = 0;
  expect(zero_model_describe(&model), ZERO_OK, "describe");
  expect(zero_model_output(1, &output), ZERO_OK, "output");
  printf("output 1 of %d: %s, %lld elements\n", model.outputs, output.name,
         (long long)output.elements);
  refused(zero_run_evaluate_outputs(run, right, 2, &unknown, 1, &loss),
          "no output");
  refused(zero_run_evaluate_outputs(run, right, 2, &small, 1, &loss), "room");
  refused(zero_run_evaluate_outputs(run, right, 2, NULL, 1, &loss), "results");
  expect(zero_run_evaluate_outputs(run, right, 2, &room, 1, NULL), ZERO_OK,
         "outputs");
  expect(zero_run_get_parameter(run, "fc1.w", weight, 3), ZERO_OK, "weight");
  const float *x = right[0].data;
  int equal = 1;
  for (int row = 0; row < 4; ++row) {
    float sum = 0;
    for (int i = 0; i < 3; ++i)
      sum += x[3 * row + i] * weight[i];
    const float error = sum - predicted[row];
    equal &= error < 1e-5f && error > -1e-5f;
  }
  printf("predictions: %s\n", equal ? "right" : "wrong");
}

/* A run that checks itself makes the updates of one that does not. */
static void check_self_check(void) {
  zero_run *plain = NULL, *checked = NULL;
  zero_options options = {sizeof options};
  const char *notices = NULL;
  expect(zero_run_create(&options, &plain), ZERO_OK, "create");
  options.self_check = 2;
  expect(zero_run_create(&options, &checked), ZERO_OK, "create");
  refused(zero_run_notices(checked, NULL), "no notices");
  refused(zero_run_backward(checked, right, 2), "in parts");
  for (int i = 0; i < 3; ++i) {
    zero_update one = {sizeof one}, other = {sizeof other};
    expect(zero_run_step(plain, right, 2, &one), ZERO_OK, "step");
    expect(zero_run_step(checked, right, 2, &other), ZERO_OK, "step");
    expect(one.loss == other.loss ? ZERO_OK : ZERO_FAILED, ZERO_OK,
           "checked losses are those without checks");
  }
  expect(zero_run_notices(checked, &notices), ZERO_OK, "notices");
  printf("notices: '%s'\n", notices);
  zero_run_destroy(plain);
  zero_run_destroy(checked);
}

static void check_checkpoints(zero_run *run, const char *folder) {
  zero_run *other = NULL;
  zero_options options = {sizeof options};
  zero_update here = {sizeof here}, there = {sizeof there};
  int64_t updates = 0, samples = 0;
  refused(zero_run_save_checkpoint(run, folder, -1), "keep");
  refused(zero_run_order(run, 8, 0, -1, NULL), "order");
  refused(zero_run_describe_data(run, right, 2, 8), "telling samples");
  expect(zero_run_save_checkpoint(run, folder, 1), ZERO_OK, "checkpoint");
  expect(zero_run_create(&options, &other), ZERO_OK, "create");
  refused(zero_run_load_checkpoint(other, "/nonexistent"), "no checkpoint");
  expect(zero_run_load_checkpoint(other, folder), ZERO_OK, "load");
  expect(zero_run_position(other, &updates, &samples), ZERO_OK, "position");
  printf("position %lld, %lld\n", (long long)updates, (long long)samples);
  expect(zero_run_step(run, right, 2, &here), ZERO_OK, "step");
  expect(zero_run_step(other, right, 2, &there), ZERO_OK, "step");
  printf("goes on: %s\n", here.loss == there.loss && here.update == there.update
                              ? "equal"
                              : "different");
  /* Within an update, too, a run can be ended. */
  expect(zero_run_backward(other, right, 2), ZERO_OK, "backward");
  zero_run_destroy(other);
}

int main(int argc, char **argv) {
  zero_run *run = NULL;
  zero_options options = {sizeof options};
  zero_tensor tensor = {sizeof tensor};
  refused(zero_model_input(9, &tensor), "input");
  refused(zero_run_step(NULL, right, 2, NULL), "no run");
  options.weights = "/nonexistent.safetensors";
  refused(zero_run_create(&options, &run), "weights");
  options.weights = NULL;
  options.nvme_path = "/nonexistent";
  refused(zero_run_create(&options, &run), "files");
  options.nvme_path = NULL;
  options.threads = -1;
  refused(zero_run_create(&options, &run), "threads");
  options.threads = 1;
  options.loss_scale = 1e-30;
  refused(zero_run_create(&options, &run), "loss scale");
  options.loss_scale = 0;
  options.timeout = NAN;
  refused(zero_run_create(&options, &run), "timeout");
  options.timeout = 0;
  options.self_check = -1;
  refused(zero_run_create(&options, &run), "self-check");
  options.self_check = 0;
  options.struct_size = 1000;
  refused(zero_run_create(&options, &run), "options");
  options.struct_size = sizeof options;
  expect(zero_run_create(&options, &run), ZERO_OK, "create");
  check_arrays(run);
  check_parameters(run);
  check_updates(run);
  refused(zero_run_save_weights(run, "/nonexistent/w"), "save");
  expect(zero_run_step(run, right, 2, NULL), ZERO_OK,
         "step after a failed save");
  check_gradients(run);
  check_outputs(run);
  check_self_check();
  if (argc > 1)
    check_checkpoints(run, argv[1]);
  zero_run_destroy(run);
  zero_run_destroy(NULL);
  return failures != 0;
}
