// Operations that say their shapes, for zero-tblgen.test.
include "zero/Dialect/NN/NNSignature.td"

def Test_ScaleOp : NN_SignedOp<"scale",
    [Floats<"x", "r..,n", "", "&">, Indices<"ids", "r..">,
     OptionalFloats<"bias", "n", "+">],
    [Flag<"fast">, Real<"eps", ">=0">, Ints<"steps", "[r]>=1">],
    [Statistics<"mean", "r..">, Elements<"y", "r..,n">],
    "parallel r, linear x"> {
  let summary = "Scale";
  let work = "flops, nullptr, check";
}

def Test_DrawOp : NN_SignedOp<"draw", [], [], [Floats<"y", "..">], ""> {
  let summary = "Draw";
}
