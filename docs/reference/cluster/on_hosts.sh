#!/bin/sh
# Runs the last rung of lab 12 on the nodes of a host file, a process per GPU: on_hosts.sh HOSTFILE [OPTION ...]
# The folder must be at the same path on all nodes, and ssh from here to them must need no password.
set -eu
hosts=$1
shift
program=${WARPFOLD_LAB:-$(pwd)/.kit/build/labs/12_many_gpus}

# Only of use with several network interfaces: NCCL's first connections go over the one that is named.
# export NCCL_SOCKET_IFNAME=eth0
# Says what NCCL finds and chooses; for looking into a problem, not for every day.
# export NCCL_DEBUG=INFO

# Without -n there are as many processes as there are slots.
exec mpirun --hostfile "$hosts" ${NCCL_SOCKET_IFNAME:+-x NCCL_SOCKET_IFNAME} ${NCCL_DEBUG:+-x NCCL_DEBUG} "$program" --rung=rank_per_gpu "$@"
