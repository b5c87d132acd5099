// What a program in a sandbox tries against its limits and walls. Its one argument says which; it prints what it got.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { mib = 1 << 20 };

static void say(const char* what, long result) {
  printf("%s: %s\n", what, result >= 0 ? "done" : strerror(errno));
  fflush(stdout);
}

// Touches memory a MiB at a time until there is no more of it, and says how much it has after each 64 MiB.
static void touch(char* at, long length) {
  for (long done = 0; done < length; done += mib) {
    memset(at + done, 1, mib);
    if (done % (64 * mib) == 0) printf("has %ld MiB\n", done / mib), fflush(stdout);
  }
}

static void shared_mapping(int descriptor, int flags, long length) {
  char* at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | flags, descriptor, 0);
  if (at == MAP_FAILED) return say("mmap", -1);
  // A child touches it and ends; its pages are then in no process's tables.
  if (fork() == 0) {
    touch(at, length);
    _exit(0);
  }
  while (wait(NULL) > 0) {
  }
  puts("holds it all");
}

static void write_file(const char* path, int descriptor) {
  static char block[mib];
  long written = 0;
  for (ssize_t got = 0; written < 1024 && (got = write(descriptor, block, sizeof block)) > 0;) ++written;
  printf("%s: %ld MiB\n", path, written);
}

static void many_memfds(void) {
  for (int process = 0; process < 14; ++process) {
    if (fork() != 0) continue;
    const int descriptor = memfd_create("flood", 0);
    if (descriptor < 0) say("memfd_create", -1);
    else write_file("memfd", descriptor);
    fflush(stdout);
    _exit(0);
  }
  while (wait(NULL) > 0) {
  }
}

static void system_v(void) {
  const int segment = shmget(IPC_PRIVATE, 256 * mib, IPC_CREAT | 0600);
  if (segment < 0) return say("shmget", -1);
  char* at = shmat(segment, NULL, 0);
  if (at == (void*)-1) return say("shmat", -1);
  touch(at, 256 * mib);
}

// A pipe keeps a whole huge page for one of its bytes, after the process has given the page away.
static void pipes(void) {
  const long huge = 2 * mib;
  for (int made = 0, ends[2]; made < 14 && pipe(ends) == 0; ++made) {
    for (int slot = 0; slot < 16; ++slot) {
      char* all = mmap(NULL, 2 * huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (all == MAP_FAILED) return say("mmap", -1);
      char* page = (char*)(((long)all + huge - 1) / huge * huge);
      madvise(page, huge, MADV_HUGEPAGE);
      memset(page, 1, huge);
      const struct iovec part = {page, 1};
      const long given = vmsplice(ends[1], &part, 1, 0);
      munmap(all, 2 * huge);
      if (given < 0) return say("vmsplice", -1);
    }
  }
  puts("holds it all");
}

static void sockets(void) {
  int ends[2];
  say("socket", socket(AF_INET, SOCK_STREAM, 0));
  say("socketpair", socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
}

static void files(void) {
  const char* const folders[] = {"", "/tmp", "/dev", "/dev/shm", "/etc", "/labs", "/out", "/proc/sys/kernel", "/usr"};
  for (unsigned i = 0; i < sizeof folders / sizeof *folders; ++i) {
    char path[64];
    snprintf(path, sizeof path, "%s/flood", folders[i]);
    const int descriptor = open(path, O_CREAT | O_RDWR, 0600);
    if (descriptor < 0) say(path, -1);
    else write_file(path, descriptor);
  }
}

static void namespaces(void) {
  const int kinds[] = {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP};
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    say("unshare", unshare(kinds[i]));
    const long child = syscall(SYS_clone, kinds[i] | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    say("clone", child);
  }
  long arguments[11] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
  const long child = syscall(SYS_clone3, arguments, sizeof arguments);
  if (child == 0) _exit(0);
  say("clone3", child);
  say("setns", setns(open("/proc/self/ns/user", O_RDONLY), 0));
  say("mount", mount("tmpfs", "/tmp", "tmpfs", 0, NULL));
  say("umount", umount2("/tmp", MNT_DETACH));
  say("chroot", chroot("/"));
  say("add_key", syscall(SYS_add_key, "user", "k", "v", 1, -3));
  say("keyctl", syscall(SYS_keyctl, 0, -3, 1));
  say("/proc/keys", open("/proc/keys", O_RDONLY) < 0 ? -1 : read(open("/proc/keys", O_RDONLY), arguments, 8) - 1);
}

static void processes(void) {
  for (int pid = 1; pid < 100000; ++pid) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    const int descriptor = open(path, O_RDONLY);
    if (descriptor < 0) continue;
    char name[256] = "";
    if (read(descriptor, name, sizeof name - 1) >= 0) printf("%d %s\n", pid, name);
    close(descriptor);
  }
}

int main(int count, char** words) {
  const char* what = count > 1 ? words[1] : "";
  if (!strcmp(what, "anonymous")) shared_mapping(-1, MAP_ANONYMOUS, 1024L * mib);
  if (!strcmp(what, "zero")) shared_mapping(open("/dev/zero", O_RDWR), 0, 1024L * mib);
  if (!strcmp(what, "private")) touch(malloc(1024L * mib), 1024L * mib);
  if (!strcmp(what, "memfds")) many_memfds();
  if (!strcmp(what, "system-v")) system_v();
  if (!strcmp(what, "pipes")) pipes();
  if (!strcmp(what, "sockets")) sockets();
  if (!strcmp(what, "files")) files();
  if (!strcmp(what, "namespaces")) namespaces();
  if (!strcmp(what, "processes")) processes();
  puts("end");
  return 0;
}
