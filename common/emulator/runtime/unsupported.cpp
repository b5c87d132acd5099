// The rest of the runtime's interface. A program that references one of these functions starts, and learns
// the name of the missing function when it calls it. The toolkit's header is not included, because signatures
// do not matter here.
namespace warpfold::runtime {
int refuse_by_name(const char* function);
}

#define UNSUPPORTED(name)                                                                                    \
  extern "C" __attribute__((visibility("default"))) int name();                                              \
  int name() {                                                                                               \
    return warpfold::runtime::refuse_by_name(#name);                                                         \
  }
#include "unsupported.def"
