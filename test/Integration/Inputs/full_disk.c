/* A disk that is full, for a program that loads this first: space is set aside
   in memory only, where files have seals. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

int fallocate(int file, int mode, off_t offset, off_t bytes) {
  if (fcntl(file, F_GET_SEALS) >= 0)
    return (int)syscall(SYS_fallocate, file, mode, offset, bytes);
  errno = ENOSPC;
  return -1;
}
