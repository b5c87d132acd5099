#include "diagnosis.hpp"

#include <fmt/format.h>

namespace lab {

std::string diagnose(const Symptom&) {
  return "";
}

} // namespace lab
