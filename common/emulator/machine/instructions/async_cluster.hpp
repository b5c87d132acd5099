// Asynchronous operations that reach the shared memory of other blocks of the cluster.
#pragma once

#include "machine/access.hpp"

namespace warpfold::machine {

// cp.async.bulk with .multicast::cluster: to several blocks.
void decode_copy_to_several(Decoder& decoder, const ptx::Instruction& in);
// Executes a copy whose destination, or another lane's, is a block of the cluster. The operation is that of a
// bulk copy (bulk.cpp): `a` the source, in the list the destination and the mbarrier, `c` the size, `e`
// whether the source lies in shared memory, `b` the mask of a copy to several.
const Operation* copy_bulk_in_cluster(Warp& warp, const Operation* op);
// st.async and red.async.
void decode_store_async(Decoder& decoder, const ptx::Instruction& in);
void decode_reduce_async(Decoder& decoder, const ptx::Instruction& in);

} // namespace warpfold::machine
