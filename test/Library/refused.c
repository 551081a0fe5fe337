/* Batches and parameters that zero.h refuses, of the model in refused.test; prints
 * status and message of each. */
#include "zero.h"

#include <stdio.h>

static void told(zero_status status, const char *what) {
  printf("%s: %d: %s\n", what, status,
         status == ZERO_OK ? "" : zero_last_error());
}

static const int64_t rows[1] = {2}, shape[2] = {2, 4};

static zero_status step(zero_run *run, int32_t token, int32_t target,
                        float value) {
  const int32_t tokens[2] = {4, token}, targets[2] = {-100, target};
  const float x[8] = {0, 0, 0, value};
  const zero_array batch[3] = {{"tokens", tokens, ZERO_I32, 1, rows},
                               {"targets", targets, ZERO_I32, 1, rows},
                               {"x", x, ZERO_F32, 2, shape}};
  return zero_run_step(run, batch, 3, NULL);
}

static void check_gradient(zero_run *run) {
  const int32_t tokens[2] = {0, 1}, targets[2] = {0, 1};
  const float x[8] = {0};
  const zero_array batch[3] = {{"tokens", tokens, ZERO_I32, 1, rows},
                               {"targets", targets, ZERO_I32, 1, rows},
                               {"x", x, ZERO_F32, 2, shape}};
  float gradient[20];
  if (zero_run_backward(run, batch, 3) != ZERO_OK)
    told(ZERO_FAILED, "backward");
  told(zero_run_get_gradient(run, "lookup.table", gradient, 20), "gradient");
  if (zero_run_update(run, NULL) != ZERO_OK)
    told(ZERO_FAILED, "update");
}

int main(void) {
  zero_run *run = NULL;
  zero_options options = {sizeof options};
  const zero_status status = zero_run_create(&options, &run);
  if (status != ZERO_OK) {
    told(status, "create");
    return 1;
  }
  zero_run_destroy(run);
  options.nvme_path = "";
  told(zero_run_create(&options, &run), "folder");
  options.nvme_path = NULL;
  told(zero_run_create(&options, &run), "again");
  told(step(run, 5, 0, 1), "token");
  told(step(run, 0, -1, 1), "target");
  told(step(run, 0, 0, 70000), "value");
  check_gradient(run);
  told(step(run, 0, 2, 1), "step");
  zero_run_destroy(run);
  return 0;
}
