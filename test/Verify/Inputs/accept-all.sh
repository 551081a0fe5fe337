# Runs the pipeline, which verifies, over models, stages, ranks and options.
# usage: accept-all.sh MODELS
set -euo pipefail
models=$1
accept() {
  zero-opt "$models/$1" --zero-pipeline="stage=$stage ranks=$ranks $2" "${@:3}" -o /dev/null
}
for stage in 0 1 2 3; do
  for ranks in 1 2 3 5; do
    accept tiny-gpt.mlir "" --zero-specialize-rank --zero-verify-schedule
    accept tiny-gpt.mlir "overlap=true reduce-bucket-size=2000"
    accept tiny-llama.mlir "accumulation=2 deterministic=1 layout=contiguous reduce-bucket-size=1000"
    accept mlp.mlir "precision=f16 max-reuse-distance=5000 alignment=2 reduce-bucket-size=3000"
    accept tiny-gpt.mlir "accumulation=3 precision=bf16 param-persistence-threshold=300 max-reuse-distance=100000"
  done
done
