// Enumerations of the program format, for zero-tblgen.test.
include "zero/Dialect/Zero/SharedEnums.td"

def Test_Place : Zero_SharedEnum<"PlaceKind", "Place", "a place", [
    Zero_SharedCase<"Here", 0, "here", "nearby">,
    Zero_SharedCase<"There", 1, "there">]> {
  let documentation = "Where something is.";
}

#ifdef GAP
def Test_Gap : Zero_RuntimeEnum<"Gap", "A gap.", [
    Zero_SharedCase<"First", 0, "first">, Zero_SharedCase<"Last", 2, "last">]>;
#endif
