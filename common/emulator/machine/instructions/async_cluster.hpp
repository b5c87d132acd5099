// Asynchronous operations that reach the shared memory of other blocks of the cluster.
#pragma once

#include "machine/access.hpp"

namespace warpfold::machine {

// cp.async.bulk from shared memory to a block of the cluster, or from global memory to several
// (.multicast::cluster).
bool copies_in_cluster(const ptx::Instruction& in);
void decode_copy_in_cluster(Decoder& decoder, const ptx::Instruction& in);
// st.async and red.async.
void decode_store_async(Decoder& decoder, const ptx::Instruction& in);
void decode_reduce_async(Decoder& decoder, const ptx::Instruction& in);

} // namespace warpfold::machine
