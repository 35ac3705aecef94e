#!/bin/bash
#
# One node, a fresh Ray head. Sourced by the launch scripts under scripts/training/.
#
# Reads:   NUM_GPUS, MASTER_ADDR, NCCL_NVLS_ENABLE, RAY_PORT
# Exports: MODEL_CONFIG_DIR, RUNTIME_ENV_JSON, HAS_NVLINK, MASTER_ADDR, LAUNCHED_BY

if [ -n "${LAUNCHED_BY:-}" ]; then
  return 0          # another entrypoint has prepared everything already
fi

ENTRYPOINT_DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" > /dev/null 2>&1 && pwd)"

export PYTHONUNBUFFERED=1
export CUDA_DEVICE_MAX_CONNECTIONS=1
export MASTER_ADDR="${MASTER_ADDR:-127.0.0.1}"
export MODEL_CONFIG_DIR="${ENTRYPOINT_DIR}/../models"

# NVLS needs NVLink; a PCIe box hangs in NCCL init with it.
NVLINK_LINES=$(nvidia-smi topo -m 2> /dev/null | grep -c 'NV[0-9]' || true)
if [ "${NVLINK_LINES:-0}" -gt 0 ]; then
  HAS_NVLINK=1
else
  HAS_NVLINK=0
fi
[ "${NCCL_NVLS_ENABLE:-1}" = "0" ] && HAS_NVLINK=0
export HAS_NVLINK
echo "NVLink: ${HAS_NVLINK}"

ray start --head \
  --node-ip-address "${MASTER_ADDR}" \
  --num-gpus "${NUM_GPUS:-8}" \
  --port "${RAY_PORT:-6379}" \
  --disable-usage-stats

export RUNTIME_ENV_JSON="{
  \"env_vars\": {
    \"PYTHONUNBUFFERED\": \"1\",
    \"CUDA_DEVICE_MAX_CONNECTIONS\": \"1\",
    \"NCCL_NVLS_ENABLE\": \"${HAS_NVLINK}\",
    \"OMP_NUM_THREADS\": \"${OMP_NUM_THREADS:-16}\"
  }
}"
export LAUNCHED_BY=local
