#include "run/cuda_errors.hpp"

#include <gtest/gtest.h>

namespace {

TEST(CudaErrors, NameAndTextOfAnyError) {
  EXPECT_EQ(lab::explain(cudaErrorInvalidValue), "invalid argument (cudaErrorInvalidValue)");
}

TEST(CudaErrors, WhatTheMachineIsAtFaultForComesWithAdvice) {
  EXPECT_NE(lab::explain(cudaErrorECCUncorrectable).find("not the kernel"), std::string::npos);
  EXPECT_NE(lab::explain(cudaErrorDevicesUnavailable).find("nvidia-smi shows which"), std::string::npos);
  EXPECT_NE(lab::explain(cudaErrorMemoryAllocation).find("fewer elements"), std::string::npos);
}

} // namespace
