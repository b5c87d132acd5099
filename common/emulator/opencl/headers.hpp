// The headers that the interface consists of: OpenCL 1.2's above, the CUDA runtime's below.
#pragma once

// The loader's table goes on to OpenCL 3.0, and deprecates functions of 1.2.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <cuda_runtime_api.h>

// cl_ext_buffer_device_address, which older headers do not have.
#ifndef CL_MEM_DEVICE_ADDRESS_EXT
#define CL_MEM_DEVICE_ADDRESS_EXT 0x5202
#endif
