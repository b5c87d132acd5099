// What every function of the interface does: it checks its arguments, and what goes wrong becomes its result.
#pragma once

#include "communicator.hpp"
#include "groups.hpp"
#include "telling.hpp"

#include <fmt/format.h>
#include <nccl.h>
#include <stdexcept>
#include <string>

namespace warpfold::nccl {

struct Refusal {
  ncclResult_t result;
  std::string text;
  std::string cause = {}; // reported before, and the last error still
};

// Runs the body of a function of the interface; what it throws becomes the function's result.
template <typename Body>
ncclResult_t entry(const char* name, Body body) {
  try {
    return group_result(body());
  } catch (const Refusal& refusal) {
    const std::string place = text(call_site());
    refuse(refusal.result, fmt::format("{}: {}\n  {}: called here", name, refusal.text, place));
    if (!refusal.cause.empty())
      set_last_text(fmt::format("{}\n  {}: {}: {}", refusal.cause, place, name, refusal.text));
    return group_result(refusal.result);
  } catch (const CudaFailure& failure) {
    return group_result(refuse(ncclUnhandledCudaError, fmt::format("{}: {}\n  {}: called here", name,
                                                                   failure.text, text(call_site()))));
  } catch (const std::exception& error) {
    return group_result(refuse(ncclSystemError, fmt::format("{}: {}", name, error.what())));
  }
}

void require(bool holds, ncclResult_t result, const std::string& text);

// Both throw Refusal for what is no communicator; `usable`, too, for one that has failed or been finalized.
ncclComm& checked(ncclComm_t comm);
ncclComm& usable(ncclComm_t comm);

// What NCCL_CHECK_POINTERS=1 has NCCL check: without it a wrong pointer ends the program, or worse.
void check_buffer(const ncclComm& comm, const void* pointer, const char* name,
                  const std::string& remark = "");

} // namespace warpfold::nccl
