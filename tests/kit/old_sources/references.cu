// What nothing can supply.
texture<float, 1, cudaReadModeElementType> table;

__global__ void read(float* value) {
  *value = tex1Dfetch(table, 0);
}

int main() {
  float* value;
  cudaMalloc(&value, sizeof *value);
  cudaBindTexture(0, table, value, sizeof *value);
  cudaUnbindTexture(table);
}
