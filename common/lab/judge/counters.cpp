#include "judge/counters.hpp"

#include "input/sequence.hpp"

#include <algorithm>

namespace lab {

double value_of(Counter counter, const Profile& profile, Type type) {
  const auto t = [&profile](std::string_view key) { return profile.total(key); };
  const auto launches = static_cast<double>(profile.launches);
  const double launches_per_device = profile.launches_of_busiest_device;
  const auto element = static_cast<double>(size_of(type));
  switch (counter) {
#define WARPFOLD_COUNTER(name, noun, ...)                                                                    \
  case Counter::name:                                                                                        \
    return static_cast<double>(__VA_ARGS__);
#include "promises/promised_counters.def"
#undef WARPFOLD_COUNTER
  }
  static_cast<void>(element), static_cast<void>(launches_per_device);
  return launches;
}

std::string_view name_of(Counter counter) {
  switch (counter) {
#define WARPFOLD_COUNTER(name, noun, ...)                                                                    \
  case Counter::name:                                                                                        \
    return #name;
#include "promises/promised_counters.def"
#undef WARPFOLD_COUNTER
  }
  return "";
}

std::string_view noun_of(Counter counter) {
  switch (counter) {
#define WARPFOLD_COUNTER(name, noun, ...)                                                                    \
  case Counter::name:                                                                                        \
    return noun;
#include "promises/promised_counters.def"
#undef WARPFOLD_COUNTER
  }
  return "";
}

} // namespace lab
