// Ends the process of rank 1 before its program starts.
#include <signal.h>
#include <stdlib.h>

__attribute__((constructor)) static void lose(void) {
  const char *rank = getenv("RANK");
  if (rank && atoi(rank) == 1)
    raise(SIGKILL);
}
