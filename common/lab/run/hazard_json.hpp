// A hazard as the emulator's report has it, and as a lab program prints it.
#pragma once

#include "run/recorded.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace lab {

inline Hazard hazard_from(const nlohmann::ordered_json& json) {
  Hazard hazard;
  hazard.kind = json.value("kind", "");
  const auto path_of = [&json](const char* key) {
    return std::filesystem::path(json.value(key, "")).lexically_normal().string();
  };
  hazard.file = path_of("file");
  hazard.line = json.value("line", 0);
  hazard.other_file = path_of("other_file");
  hazard.other_line = json.value("other_line", 0);
  hazard.call_line = json.value("call_line", 0);
  hazard.message = json.value("message", "");
  hazard.launch = json.value("launch", "");
  hazard.during = json.value("during", "");
  hazard.why = json.value("why", "");
  hazard.advice = json.value("advice", "");
  hazard.read = json.value("read", "");
  hazard.group = json.value("group", "");
  hazard.explains = json.value("explains", "");
  return hazard;
}

} // namespace lab
