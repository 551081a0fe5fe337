/* Trains on a file, from the newest checkpoint of a folder where there is one
 * to load, and saves a checkpoint or the weights:
 *
 *   resume DATA STEPS save FOLDER
 *   resume DATA STEPS load FOLDER WEIGHTS */
#include "zero.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(zero_status status) {
  if (status == ZERO_OK)
    return;
  puts(zero_last_error());
  exit(1);
}

int main(int argc, char **argv) {
  zero_options options = {sizeof options};
  zero_run *run;
  const char *notices;
  if (argc < 5)
    return 2;
  options.seed = 7;
  options.threads = 1;
  check(zero_run_create(&options, &run));
  if (!strcmp(argv[3], "load"))
    check(zero_run_load_checkpoint(run, argv[4]));
  check(zero_run_open_data(run, argv[1]));
  check(zero_run_notices(run, &notices));
  printf("notices: '%s'\n", notices);
  for (int i = 0; i < atoi(argv[2]); ++i)
    check(zero_run_step(run, NULL, 0, NULL));
  if (!strcmp(argv[3], "load"))
    check(zero_run_save_weights(run, argv[5]));
  else
    check(zero_run_save_checkpoint(run, argv[4], 0));
  zero_run_destroy(run);
  return 0;
}
