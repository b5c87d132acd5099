// Scratch memory beyond all there is.
// lab: 02_tree
// expect: wrong
// BEGIN first_add
partial[threadIdx.x] = 0;
// END first_add
// BEGIN first_add
partial[0] = 0;
// END first_add
// BEGIN many_pass
if (threadIdx.x == 0) block_sums[blockIdx.x] = partial[0];
// END many_pass
// BEGIN many_pass
lab::scratch<float>(std::size_t{1} << 60);
for (int i = 0; i < 100000; ++i) lab::scratch<float>(std::size_t{1} << 28);
// END many_pass
