// Sends open files along with its requests, and packets without content, to the process that judges.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
extern "C" long syscall(long, ...);
extern "C" long write(int, const void*, unsigned long);
extern "C" long read(int, void*, unsigned long);
extern "C" int usleep(unsigned);
struct Head {
  unsigned kind, bytes;
  unsigned long value;
};
#include <cstring>
#include <sys/socket.h>
inline void send_open_files() {
  Head head{7, 40, 0};
  char packet[56] = {}, control[CMSG_SPACE(10 * sizeof(int))] = {};
  memcpy(packet, &head, sizeof head);
  iovec part{packet, sizeof packet};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* files = CMSG_FIRSTHDR(&message);
  files->cmsg_level = SOL_SOCKET;
  files->cmsg_type = SCM_RIGHTS;
  files->cmsg_len = CMSG_LEN(10 * sizeof(int));
  for (int i = 0; i < 300; ++i) sendmsg(0, &message, 0);
  send(0, packet, 0, 0);
}
#define cudaMemset(...) send_open_files()
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
