// The rest of the runtime's interface, so that a program that names one of these functions starts, and learns
// by name what is missing if it calls one. The toolkit's header is not included: no signature matters here.
namespace warpfold::runtime {
int refuse_by_name(const char* function);
}

#define UNSUPPORTED(name)                                                                                    \
  extern "C" __attribute__((visibility("default"))) int name();                                              \
  int name() {                                                                                               \
    return warpfold::runtime::refuse_by_name(#name);                                                         \
  }
#include "unsupported.def"
