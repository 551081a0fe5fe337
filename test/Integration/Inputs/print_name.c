// The name of the process, as tools such as ps and pkill know it.
#include <stdio.h>
#include <sys/prctl.h>

__attribute__((constructor)) static void print_name(void) {
  char name[16];
  prctl(PR_GET_NAME, name);
  fprintf(stderr, "process %s\n", name);
}
