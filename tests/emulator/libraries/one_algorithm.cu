// One algorithm of one library on one pair of element types, named on the command line of the compiler:
//   -DTRY_LIBRARY=cub -DTRY_ALGORITHM=scan_by_key -DTRY_KEY=std::uint8_t -DTRY_VALUE=Bytes16
// campaign.py builds and runs them all; in one program they would take nvcc an hour.
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define JOINED_OF(a, b) a##b
#define JOINED(a, b) JOINED_OF(a, b)

#include "algorithms.cuh"
#include TEXT(TRY_LIBRARY.cuh)

int main(int argc, char** argv) {
  return run_rounds(
      TEXT(TRY_LIBRARY) " " TEXT(TRY_ALGORITHM) "<" TEXT(TRY_KEY) ", " TEXT(TRY_VALUE) ">", argc, argv,
      [](auto& random, int n) { JOINED(try_, TRY_ALGORITHM)<Library, TRY_KEY, TRY_VALUE>(random, n); });
}
