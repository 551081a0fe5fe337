/* Trains a compiled model from C:
 *
 *   zero-compile model.mlir --ranks 2 --emit=shared -o train.so
 *   cc -I runtime/capi example.c ./train.so -o example
 *   ./example corpus.txt 100 weights.safetensors
 */
#include "zero.h"

#include <stdio.h>
#include <stdlib.h>

static void check(zero_status status) {
  if (status == ZERO_OK)
    return;
  fprintf(stderr, "error: %s\n", zero_last_error());
  exit(1);
}

static void print_model(void) {
  zero_model model = {sizeof model};
  check(zero_model_describe(&model));
  printf("%s: stage %d, %d ranks, %lld samples in an update\n", model.name,
         model.stage, model.ranks, (long long)model.update_samples);
  for (int i = 0; i < model.inputs; ++i) {
    zero_tensor input = {sizeof input};
    check(zero_model_input(i, &input));
    printf("input %s: %lld elements\n", input.name, (long long)input.elements);
  }
}

/* The mean square of a parameter, which may be spread over all ranks. */
static void print_parameter(zero_run *run, int index) {
  zero_tensor tensor = {sizeof tensor};
  check(zero_model_parameter(index, &tensor));
  float *values = malloc((size_t)tensor.elements * sizeof *values);
  if (!values)
    abort();
  check(zero_run_get_parameter(run, tensor.name, values, tensor.elements));
  double sum = 0;
  for (int64_t i = 0; i < tensor.elements; ++i)
    sum += (double)values[i] * values[i];
  printf("parameter %s: mean square %g\n", tensor.name,
         sum / (double)tensor.elements);
  free(values);
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: example DATA STEPS WEIGHTS.safetensors\n");
    return 2;
  }
  print_model();

  zero_options options = {sizeof options};
  options.seed = 7;
  options.threads = 1;
  zero_run *run;
  check(zero_run_create(&options, &run));
  check(zero_run_open_data(run, argv[1]));

  long steps = strtol(argv[2], NULL, 10);
  for (long i = 0; i < steps; ++i) {
    zero_update update = {sizeof update};
    check(zero_run_step(run, NULL, 0, &update));
    printf("step %lld loss %.6f norm %.6f\n", (long long)update.update,
           update.loss, update.gradient_norm);
  }
  print_parameter(run, 0);
  check(zero_run_save_weights(run, argv[3]));
  zero_run_destroy(run);
  return 0;
}
