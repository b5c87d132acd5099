// The parts of shared opcodes (add, min, ...) that belong to each kind of number.
#pragma once

#include "lanes.hpp"

namespace warpfold::machine {

void decode_float_add(Decoder&, const ptx::Instruction&);
void decode_float_sub(Decoder&, const ptx::Instruction&);
void decode_float_mul(Decoder&, const ptx::Instruction&);
void decode_float_fma(Decoder&, const ptx::Instruction&);
void decode_float_div(Decoder&, const ptx::Instruction&);
void decode_float_min(Decoder&, const ptx::Instruction&);
void decode_float_max(Decoder&, const ptx::Instruction&);
void decode_float_abs(Decoder&, const ptx::Instruction&);
void decode_float_neg(Decoder&, const ptx::Instruction&);

void decode_half_add(Decoder&, const ptx::Instruction&);
void decode_half_sub(Decoder&, const ptx::Instruction&);
void decode_half_mul(Decoder&, const ptx::Instruction&);
void decode_half_fma(Decoder&, const ptx::Instruction&);
void decode_half_min(Decoder&, const ptx::Instruction&);
void decode_half_max(Decoder&, const ptx::Instruction&);
void decode_half_abs(Decoder&, const ptx::Instruction&);
void decode_half_neg(Decoder&, const ptx::Instruction&);
void decode_half_ex2(Decoder&, const ptx::Instruction&);
void decode_half_tanh(Decoder&, const ptx::Instruction&);
void decode_no_half(Decoder&, const ptx::Instruction&);

bool is_packed_integer(const ptx::Instruction&); // packed.cpp: two 16-bit integers in a register
void decode_packed_add(Decoder&, const ptx::Instruction&);
void decode_packed_min(Decoder&, const ptx::Instruction&);
void decode_packed_max(Decoder&, const ptx::Instruction&);

} // namespace warpfold::machine
