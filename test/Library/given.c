/* Gives gradients of micro-batches to tiny-mlp of 2 ranks and 2 micro-batches,
 * instead of its own: prints what is refused, and what the update makes of
 * them. */
#include "zero.h"

#include <math.h>
#include <stdio.h>

static void refused(zero_status status, const char *what) {
  printf("%s: %d: %s\n", what, status, zero_last_error());
}

static int check(zero_status status, const char *what) {
  if (status != ZERO_OK)
    printf("%s: %s\n", what, zero_last_error());
  return status == ZERO_OK;
}

static const float values[4][3] = {
    {1, 2, 4}, {3, 0, -8}, {0, -2, 16}, {-8, 4, 0}};
static const int64_t shape[2] = {3, 1}, turned[2] = {1, 3};

static void check_refusals(zero_run *run) {
  zero_gradient two[2] = {{"fc1.w", 0, values[0], ZERO_F32, 2, shape},
                          {"fc1.w", 1, values[1], ZERO_F32, 2, shape}};
  const zero_gradient right = two[0];
#define TRY(what, count, change)                                               \
  two[0] = right;                                                              \
  change;                                                                      \
  refused(zero_run_step_gradients(run, NULL, 0, two, count, NULL), what)
  TRY("name", 2, two[0].name = "fc1.v");
  TRY("micro-batch", 2, two[0].micro_batch = 4);
  TRY("negative", 2, two[0].micro_batch = -1);
  TRY("twice", 2, two[0].micro_batch = 1);
  TRY("shape", 2, two[0].shape = turned);
  TRY("type", 2, two[0].type = ZERO_F64);
  TRY("no type", 2, two[0].type = 99);
  TRY("no data", 2, two[0].data = NULL);
  TRY("none", 0, (void)0);
  refused(zero_run_step_gradients(run, NULL, 0, NULL, 1, NULL), "no list");
  const int64_t x_shape[2] = {8, 3};
  const float xs[24] = {0};
  const zero_array batch = {"x", xs, ZERO_F32, 2, x_shape};
  refused(zero_run_step_gradients(run, &batch, 1, two, 2, NULL), "batch");
  refused(zero_run_step(run, &batch, 1, NULL), "no gradients");
}

/* In an order of the caller's, without the one of micro-batch 2. */
static void check_update(zero_run *run) {
  const zero_gradient given[3] = {{"fc1.w", 3, values[3], ZERO_F32, 2, shape},
                                  {"fc1.w", 0, values[0], ZERO_F32, 2, shape},
                                  {"fc1.w", 1, values[1], ZERO_F32, 2, shape}};
  zero_update update = {sizeof update};
  float found[3] = {0}, before[3] = {0}, after[3] = {0};
  int right = 1;
  if (!check(zero_run_get_parameter(run, "fc1.w", before, 3), "get") ||
      !check(zero_run_backward_gradients(run, NULL, 0, given, 3), "backward"))
    return;
  refused(zero_run_step_gradients(run, NULL, 0, given, 3, NULL), "held");
  check(zero_run_get_gradient(run, "fc1.w", found, 3), "gradient");
  printf("mean %g %g %g\n", found[0], found[1], found[2]);
  check(zero_run_update(run, &update), "update");
  printf("update %d loss %g norm %g\n", (int)update.update,
         isnan(update.loss) ? 0.0 : 1.0, update.gradient_norm);
  check(zero_run_get_parameter(run, "fc1.w", after, 3), "get");
  for (int i = 0; i < 3; ++i)
    right &= after[i] == before[i] - found[i];
  printf("update: %s\n", right ? "right" : "wrong");
}

int main(void) {
  zero_model model = {sizeof model};
  zero_run *run = NULL;
  check(zero_model_describe(&model), "describe");
  printf("given %d\n", model.given_gradients == ZERO_GIVEN_INSTEAD);
  if (!check(zero_run_create(NULL, &run), "create"))
    return 1;
  check_refusals(run);
  check_update(run);
  zero_run_destroy(run);
  return 0;
}
