// The kernels of `zero`: what a step does to gradients, the loss and the
// control block. Ranges of a partition are flat, and what a kernel writes is an
// operand as well.
#include "program/KernelPattern.h"
#include "program/QuantizedKernels.h"
#include "program/Workspaces.h"

using namespace zrt;

namespace {

using Shapes = const KernelShapes &;

bool isLane(DataType type) {
  return type == DataType::F32 || type == DataType::BF16 ||
         type == DataType::F16;
}

/// Bytes are moved as they are, or floats converted.
std::string checkCopy(Shapes s) {
  const TensorType &from = *s.tensor("from"), &to = *s.tensor("to");
  if (from.type == to.type || (isLane(from.type) && isLane(to.type)))
    return {};
  return "to is " + describe(to) + ", wanted " +
         describe({from.type, to.shape}) +
         (isLane(from.type) ? " or another of f32, bf16 and f16" : "");
}

std::string checkPacked(Shapes s, const char *packed, int64_t bytes) {
  const Quantization how = quantizationOf(*s.spec);
  if (!how.isValid())
    return "bits are " + std::to_string(how.bits) + " and block is " +
           std::to_string(how.block) +
           ", wanted 8 or 4 bits and an even block of at least 2";
  return s.size("m") == bytes
             ? ""
             : std::string(packed) + " has " + std::to_string(s.size("m")) +
                   " bytes, wanted " + std::to_string(bytes);
}

/// What is wrong with how values are cut; empty where nothing is.
std::string checkPieces(const QuantizedPieces &cut) {
  if (cut.ranks >= 1 && cut.pieces >= 1 && cut.piece >= 0)
    return {};
  return "pieces are " + std::to_string(cut.pieces) + " of " +
         std::to_string(cut.piece) + " elements for each of " +
         std::to_string(cut.ranks) + " ranks, wanted at least one";
}

int64_t packedBytes(Shapes s) {
  const QuantizedPieces cut = piecesOf(*s.spec);
  return cut.all() * quantizationOf(*s.spec).packedBytes(cut.piece);
}

std::string checkQuantize(Shapes s) {
  const QuantizedPieces cut = piecesOf(*s.spec);
  if (std::string wrong = checkPieces(cut); !wrong.empty())
    return wrong;
  if (s.size("n") > cut.all() * cut.piece)
    return "from has " + std::to_string(s.size("n")) +
           " elements, wanted at most the " +
           std::to_string(cut.all() * cut.piece) + " of all pieces";
  return checkPacked(s, "to", packedBytes(s));
}

std::string checkFeedback(Shapes s) {
  const double beta = s.spec->real("beta");
  const int64_t reset = s.spec->integer("reset"),
                micros = s.spec->integer("accumulation");
  if (!(beta >= 0 && beta < 1) || reset < 1 || micros < 1)
    return "beta is " + std::to_string(beta) + ", reset " +
           std::to_string(reset) + " and accumulation " +
           std::to_string(micros) +
           ", wanted a beta in [0, 1) and 1 or more of the others";
  return checkQuantize(s);
}

std::string checkSumQuantized(Shapes s) {
  const QuantizedPieces cut = piecesOf(*s.spec);
  if (std::string wrong = checkPieces(cut); !wrong.empty())
    return wrong;
  if (s.size("n") != cut.pieces * cut.piece)
    return "to has " + std::to_string(s.size("n")) + " elements, wanted the " +
           std::to_string(cut.pieces * cut.piece) + " of one rank's pieces";
  return checkPacked(s, "from", packedBytes(s));
}

std::string checkDequantize(Shapes s) {
  const int64_t ranks = s.spec->integer("ranks");
  int64_t slice = 0;
  for (const int64_t piece : s.spec->ints.at("pieces"))
    slice += piece;
  if (ranks < 1 || slice * ranks != s.size("n"))
    return "pieces have " + std::to_string(slice) + " elements on each of " +
           std::to_string(ranks) + " ranks, wanted " +
           std::to_string(s.size("n")) + " together";
  return checkPacked(s, "from",
                     ranks * quantizationOf(*s.spec).packedBytes(slice));
}

std::string checkScalar(Shapes s) {
  for (const char *name : {"x", "weight"})
    if (const TensorType *x = s.tensor(name); x && x->elements() != 1)
      return std::string(name) + " is " + describe(*x) + ", wanted a scalar";
  return {};
}

std::string checkGradScale(Shapes s) {
  const double clip = s.spec->real("clip"), divisor = s.spec->real("divisor");
  if (s.spec->integer("micro_batches") < 0)
    return "micro_batches is " +
           std::to_string(s.spec->integer("micro_batches")) +
           ", wanted 1 or more";
  if (clip >= 0 && divisor > 0)
    return {};
  return "clip is " + std::to_string(clip) + " and divisor " +
         std::to_string(divisor) + ", wanted clip >= 0 and divisor > 0";
}

/// The sum is read and written.
uint64_t accumulateBytes(Shapes s) {
  return s.tensor("from")->bytes() + 2 * s.tensor("sum")->bytes();
}

} // namespace

const std::vector<KernelSchema> &zrt::stepKernelSchemas() {
  static const std::vector<KernelSchema> schemas = {
      // With `updated`, nothing where the update is skipped.
      {"zero.copy", "from:any[n] to:any[n] ->", "updated:int?", nullptr,
       nullptr, checkCopy},
      {"zero.clear", "to:any[..] ->"},
      // With `owner`, an index in `group`, only that rank adds. The first
      // micro-batch of an update overwrites, but with `add`.
      {"zero.accumulate", "from:T[n] sum:U[n] ->",
       "owner:int? group:int? add:int?",
       [](Shapes s) -> uint64_t { return s.size("n"); }, accumulateBytes},
      // Packed as Quantization and QuantizedPieces say.
      {"zero.quantize", "from:T[n] -> to:i8[m]",
       "bits:int block:int ranks:int? pieces:int? piece:int?",
       [](Shapes s) -> uint64_t { return 4 * s.size("n"); }, nullptr,
       checkQuantize},
      // The same of what is read and the errors of earlier calls; `left` are
      // those of later ones, in the memory of `errors` or in another.
      {"zero.quantize_feedback",
       "from:T[n] errors:bf16[n] -> to:i8[m] left:bf16[n]",
       "bits:int block:int ranks:int pieces:int piece:int beta:real reset:int "
       "accumulation:int",
       [](Shapes s) -> uint64_t { return 12 * s.size("n"); }, nullptr,
       checkFeedback},
      // The slices of all ranks, whose pieces are those of each segment.
      {"zero.dequantize", "from:i8[m] -> to:T[n]",
       "bits:int block:int ranks:int pieces:ints",
       [](Shapes s) -> uint64_t { return s.size("n"); }, nullptr,
       checkDequantize},
      // What ranks have packed for this one: each piece is the sum over ranks,
      // times `factor`.
      {"zero.sum_quantized", "from:i8[m] -> to:T[n]",
       "bits:int block:int ranks:int pieces:int piece:int factor:real?",
       [](Shapes s) -> uint64_t {
         return 2 * s.size("n") * s.spec->integer("ranks");
       },
       nullptr, checkSumQuantized},
      // `weight` is that of the micro-batch.
      {"zero.loss_seed", "weight?:f32[..] -> x:T[..]", "", nullptr, nullptr,
       checkScalar},
      {"zero.record_loss", "x:T[..] weight?:f32[..] ->", "", nullptr, nullptr,
       checkScalar},
      // `first` clears what earlier ones found; `base` is the index of the
      // first element; of the ranks in `copies` one counts. With `finite_only`
      // no squares are added: what is read are no gradients.
      workspace::with(
          workspace::statistics,
          {"zero.grad_stats", "gradient:T[n] ->",
           "partition:int first:flag exact:flag base:int? copies:int? "
           "finite_only:flag",
           [](Shapes s) -> uint64_t { return 3 * s.size("n"); }}),
      // Of so many micro-batches, where they have weights.
      {"zero.grad_scale", "->",
       "clip:real divisor:real exact:flag skip:flag micro_batches:int?",
       nullptr, nullptr, checkGradScale},
      {"zero.update_scale", "->"},
  };
  return schemas;
}
