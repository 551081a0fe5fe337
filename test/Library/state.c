/* Sets all state of tiny-gpt, whole and rank by rank, between the two halves of
 * an update, and writes what the update makes of it, or compares it with what
 * another run has written. */
#include "zero.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(zero_status status, const char *what) {
  if (status == ZERO_OK)
    return;
  printf("%s: %s\n", what, zero_last_error());
  exit(1);
}

static void require(int holds, const char *what, const char *name) {
  if (holds)
    return;
  printf("%s of %s\n", what, name);
  exit(1);
}

/* Some value of an element, the same in every run. */
static float value_of(int seed, int64_t element) {
  return (float)((seed * 7919 + element * 104729) % 2001 - 1000) / 1000.0f;
}

/* Copies the local elements of all ranks to their places in `whole`, or the
 * other way round; every element must be one rank's. */
static void all_local(zero_run *run, int ranks, const char *name,
                      const char *what, float *whole, int64_t elements,
                      int set) {
  int64_t covered = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    int64_t count = 0, room = 0;
    check(zero_run_local_pieces(run, rank, name, what, NULL, 0, &count), what);
    zero_piece *pieces = calloc((size_t)count + 1, sizeof *pieces);
    check(zero_run_local_pieces(run, rank, name, what, pieces, count, &count),
          what);
    for (int64_t i = 0; i < count; ++i)
      room += pieces[i].count;
    float *values = calloc((size_t)room + 1, sizeof *values), *at = values;
    if (!set)
      check(zero_run_get_local(run, rank, name, what, values, room), what);
    for (int64_t i = 0; i < count; at += pieces[i++].count)
      memcpy(set ? at : whole + pieces[i].element,
             set ? whole + pieces[i].element : at,
             (size_t)pieces[i].count * sizeof *at);
    if (set)
      check(zero_run_set_local(run, rank, name, what, values, room), what);
    covered += room;
    free(values);
    free(pieces);
  }
  require(covered == elements, "the pieces of ranks are not all", name);
}

static zero_status get(zero_run *run, const char *name, const char *what,
                       float *values, int64_t elements) {
  if (!strcmp(what, "parameter"))
    return zero_run_get_parameter(run, name, values, elements);
  if (!strcmp(what, "gradient"))
    return zero_run_get_gradient(run, name, values, elements);
  return zero_run_get_state(run, name, what, values, elements);
}

static zero_status set(zero_run *run, const char *name, const char *what,
                       const float *values, int64_t elements) {
  if (!strcmp(what, "parameter"))
    return zero_run_set_parameter(run, name, values, elements);
  if (!strcmp(what, "gradient"))
    return zero_run_set_gradient(run, name, values, elements);
  return zero_run_set_state(run, name, what, values, elements);
}

/* Sets it, whole or locally, and reads it back both ways. */
static void set_and_get(zero_run *run, int ranks, const zero_tensor *tensor,
                        const char *what, int seed, float offset) {
  const int64_t elements = tensor->elements;
  const size_t bytes = (size_t)elements * sizeof(float);
  float *wanted = malloc(bytes), *found = malloc(bytes), *local = malloc(bytes);
  for (int64_t i = 0; i < elements; ++i)
    wanted[i] = value_of(seed, i) + offset;
  if (seed % 2)
    all_local(run, ranks, tensor->name, what, wanted, elements, 1);
  else
    check(set(run, tensor->name, what, wanted, elements), what);
  check(get(run, tensor->name, what, found, elements), what);
  all_local(run, ranks, tensor->name, what, local, elements, 0);
  require(!memcmp(found, local, bytes), "local elements differ", tensor->name);
  /* Sums of gradients are kept: means over 3 ranks are rounded twice. */
  const float room =
      strcmp(what, "gradient") || (ranks & (ranks - 1)) == 0 ? 0 : 0x1p-23f;
  for (int64_t i = 0; i < elements; ++i)
    require(fabsf(found[i] - wanted[i]) <= room * fabsf(wanted[i]),
            "what was set is not there", tensor->name);
  free(local);
  free(found);
  free(wanted);
}

/* The step's inputs: zeros. */
static void backward(zero_run *run, const zero_model *model) {
  zero_array arrays[2];
  int64_t shapes[2][2];
  for (int i = 0; i < 2; ++i) {
    zero_tensor input = {sizeof input};
    check(zero_model_input(i, &input), "input");
    shapes[i][0] = model->update_samples;
    shapes[i][1] = input.shape[1];
    const zero_array array = {
        input.name,
        calloc((size_t)(shapes[i][0] * shapes[i][1]), sizeof(int32_t)),
        input.type, 2, shapes[i]};
    arrays[i] = array;
  }
  check(zero_run_backward(run, arrays, 2), "backward");
  free((void *)arrays[0].data);
  free((void *)arrays[1].data);
}

int main(int argc, char **argv) {
  zero_model model = {sizeof model};
  zero_run *run;
  zero_update update = {sizeof update};
  const int write = argc == 3 && !strcmp(argv[1], "write");
  FILE *file = fopen(argv[2], write ? "wb" : "rb");
  check(zero_model_describe(&model), "describe");
  check(zero_run_create(NULL, &run), "create");
  for (int i = 0; i < model.parameters; ++i) {
    zero_tensor tensor = {sizeof tensor};
    check(zero_model_parameter(i, &tensor), "parameter");
    set_and_get(run, model.ranks, &tensor, "parameter", 2 * i + 1, 0);
    if (!tensor.trainable)
      continue;
    set_and_get(run, model.ranks, &tensor, "exp_avg", 2 * i + 2, 0);
    set_and_get(run, model.ranks, &tensor, "exp_avg_sq", 2 * i + 3, 2);
  }
  backward(run, &model);
  for (int i = 0; i < model.parameters; ++i) {
    zero_tensor tensor = {sizeof tensor};
    check(zero_model_parameter(i, &tensor), "parameter");
    if (tensor.trainable)
      set_and_get(run, model.ranks, &tensor, "gradient", i, 0);
  }
  check(zero_run_update(run, &update), "update");
  printf("stage %d, %d ranks: norm %.4f\n", model.stage, model.ranks,
         update.gradient_norm);
  double error = 0, size = 0;
  for (int i = 0; i < model.parameters; ++i) {
    zero_tensor tensor = {sizeof tensor};
    check(zero_model_parameter(i, &tensor), "parameter");
    float *found = malloc((size_t)tensor.elements * sizeof *found),
          *wanted = malloc((size_t)tensor.elements * sizeof *wanted);
    check(zero_run_get_parameter(run, tensor.name, found, tensor.elements),
          "get");
    if (write)
      fwrite(found, sizeof *found, (size_t)tensor.elements, file);
    else
      require(fread(wanted, sizeof *wanted, (size_t)tensor.elements, file) ==
                  (size_t)tensor.elements,
              "no value", tensor.name);
    for (int64_t j = 0; !write && j < tensor.elements; ++j) {
      error += pow(found[j] - wanted[j], 2);
      size += pow(wanted[j], 2);
    }
    free(found);
    free(wanted);
  }
  fclose(file);
  zero_run_destroy(run);
  if (!write)
    printf("%s\n", error <= 1e-14 * size ? "equal" : "different");
  return 0;
}
