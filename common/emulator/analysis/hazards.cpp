#include "hazards.hpp"

namespace warpfold::analysis {

namespace {

// No default, so that a kind of fault that has no row here does not compile.
Hazard of_kind(machine::Fault::Kind kind) {
  using Kind = machine::Fault::Kind;
  switch (kind) {
  case Kind::out_of_bounds:
    return {HazardKind::out_of_bounds, HazardCause::beyond_bounds};
  case Kind::use_after_free:
    return {HazardKind::use_after_free, HazardCause::freed_memory};
  case Kind::peer_access:
    return {HazardKind::peer_access, HazardCause::no_peer_access};
  case Kind::peer_pool:
    return {HazardKind::peer_access, HazardCause::no_pool_access};
  case Kind::peer_variable:
    return {HazardKind::peer_access, HazardCause::variable_of_peer};
  case Kind::misaligned:
    return {HazardKind::misaligned, HazardCause::unaligned_address};
  case Kind::bulk_units:
    return {HazardKind::misaligned, HazardCause::bulk_units};
  case Kind::barrier:
    return {HazardKind::barrier, HazardCause::barrier_never_complete};
  case Kind::unpaired_arrival:
    return {HazardKind::barrier, HazardCause::unpaired_arrival};
  case Kind::no_mbarrier:
    return {HazardKind::barrier, HazardCause::mbarrier_not_initialised};
  case Kind::more_arrivals:
    return {HazardKind::barrier, HazardCause::more_arrivals};
  case Kind::phase:
    return {HazardKind::barrier, HazardCause::phase_never_complete};
  case Kind::missing_bytes:
    return {HazardKind::barrier, HazardCause::bytes_never_come};
  case Kind::warp_mask:
    return {HazardKind::warp_mask, HazardCause::lanes_never_come};
  case Kind::partial_warp:
    return {HazardKind::warp_mask, HazardCause::partial_warp};
  case Kind::waiting:
    return {HazardKind::endless, HazardCause::waits_in_vain};
  case Kind::endless:
    return {HazardKind::endless, HazardCause::never_ends};
  case Kind::too_slow:
    return {HazardKind::endless, HazardCause::too_much_work};
  case Kind::interrupted:
    return {HazardKind::interrupted, HazardCause::stopped_from_outside};
  case Kind::unsupported:
    return {HazardKind::launch, HazardCause::unsupported_instruction};
  case Kind::trap:
  case Kind::assertion:
    return {HazardKind::launch, HazardCause::own_stop};
  case Kind::stack_overflow:
    return {HazardKind::launch, HazardCause::full_stack};
  case Kind::out_of_memory:
    return {HazardKind::launch, HazardCause::full_memory};
  case Kind::invalid_instruction:
    break;
  }
  return {HazardKind::launch, HazardCause::invalid_use};
}

} // namespace

const HazardKindFacts& facts(HazardKind kind) {
  static constexpr HazardKindFacts kinds[] = {
#define HAZARD_KIND(name, text, section, group, fails_check, explains, of_host)                              \
  {text, "docs/handouts/" section, group, fails_check, explains, of_host},
#define HAZARD_CAUSE(...)
#include "hazards.def"
#undef HAZARD_KIND
#undef HAZARD_CAUSE
  };
  return kinds[static_cast<std::size_t>(kind)];
}

const HazardCauseFacts& facts(HazardCause cause) {
  static constexpr HazardCauseFacts causes[] = {
#define HAZARD_KIND(...)
#define HAZARD_CAUSE(name, why, advice) {why, advice},
#include "hazards.def"
#undef HAZARD_KIND
#undef HAZARD_CAUSE
  };
  return causes[static_cast<std::size_t>(cause)];
}

bool is_in_opencl(const machine::SourceLine& where) {
  return where.file.ends_with(".cl");
}

HazardCause cause_in_its_language(const Hazard& hazard) {
  if (!is_in_opencl(hazard.where)) return hazard.cause;
  switch (hazard.cause) {
  case HazardCause::lanes_of_a_warp:
  case HazardCause::lanes_in_global:
  case HazardCause::warps_of_a_block:
    return HazardCause::items_of_a_group;
  case HazardCause::divergent_barrier:
  case HazardCause::barrier_mismatch:
    return HazardCause::barrier_not_for_all_items;
  default:
    return hazard.cause;
  }
}

Hazard hazard_from(const machine::Fault& fault) {
  Hazard hazard = of_kind(fault.kind);
  using Region = machine::Fault::Region;
  using Argument = machine::Fault::Argument;
  if (fault.kind == machine::Fault::Kind::out_of_bounds)
    hazard.cause = fault.region == Region::shared                   ? HazardCause::beyond_shared
                   : fault.region == Region::missing_shared         ? HazardCause::no_shared_given
                   : fault.region == Region::other_block            ? HazardCause::outside_cluster
                   : fault.region == Region::local                  ? HazardCause::beyond_local
                   : fault.region == Region::local_by_rank          ? HazardCause::local_by_rank
                   : fault.region == Region::surface                ? HazardCause::beyond_surface
                   : fault.region == Region::end_of_array           ? HazardCause::partly_beyond
                   : fault.argument == Argument::null               ? HazardCause::null_argument
                   : fault.argument == Argument::null_and_zero      ? HazardCause::null_and_zero
                   : fault.argument == Argument::overflowed         ? HazardCause::overflowed_index
                   : fault.argument == Argument::more_blocks        ? HazardCause::more_blocks
                   : fault.argument == Argument::more_than_elements ? HazardCause::more_than_elements
                   : fault.argument == Argument::swapped            ? HazardCause::swapped_arguments
                   : fault.region == Region::nowhere                ? HazardCause::far_from_arrays
                                                                    : HazardCause::beyond_bounds;
  hazard.message = fault.message;
  hazard.launch = fault.launch;
  hazard.where = fault.where;
  hazard.other = fault.other;
  return hazard;
}

} // namespace warpfold::analysis
