__device__ int shared_table[3] = {1, 2, 3};
__device__ int third(const int* values) {
  return values[2];
}
__managed__ int from_other = 77;
__device__ int subtract(int a, int b) {
  return a - b;
}
typedef int (*Operation)(int, int);
__device__ Operation operation = subtract;
static __device__ int same_name() {
  return 5000;
}

__global__ void defined_in_other(int* out) {
  *out = same_name() + shared_table[0];
  from_other += 1;
}
