#!/bin/sh
# emulated.sh COMMAND...: runs it where the kernel starts 64-bit Arm programs through qemu, those that they start
# themselves included. Nothing outside is changed: since Linux 6.7 a user namespace has a binfmt_misc of its own.
# Exit code 77 where that cannot be had.
set -u
if [ "${1:-}" != --inside ]; then
  exec unshare --user --map-root-user --mount "$0" --inside "$@"
fi
shift
registry=/proc/sys/fs/binfmt_misc
qemu=$(command -v qemu-aarch64-static) || { echo "qemu-aarch64-static is not installed" >&2; exit 77; }
mount -t binfmt_misc binfmt_misc $registry || { echo "no binfmt_misc in a namespace: Linux 6.7 or newer has it" >&2; exit 77; }
# An ELF file of 64 bits, little-endian, executable or shared, for machine 183 (AArch64).
magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
printf '%s' ":qemu-aarch64:M::$magic:$mask:$qemu:F" > $registry/register || exit 77
exec "$@"
