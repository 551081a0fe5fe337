// Keys of a configuration, for zero-tblgen.test.
include "zero/Config/Key.td"

def Whole : Part<"Config", [{&config}]>;
def Maybe : Part<"Some", [{config.some ? &*config.some : nullptr}]>;
def Colours : Words<"Colour", ["deep_red", "blue"]>;
def NoPart : Reason<[{!config.some}], "there is none", "give some=true">;

def : Key<"block", Object, "{}", "a block">;
def : Key<"block.count", Count, "null", "how many \"things\"">, Field<Whole, "count">,
      AtMost<9>, Initially<"3">, Planned<"things_counted">, Option<"count">, Searched;
def : Key<"block.share", Fraction, "0.5", "how much">, Field<Maybe, "share">,
      Idle<[NoPart]>;
def : Key<"block.colour", Choice, "\"blue\"", "which colour">,
      WordField<Whole, "colour", Colours>;
def : Key<"block.sum", Size, "0", "both">, Written<[{config.a + config.b}]>;
def : Key<"old", Any, "null", "a key of before">, Refused<"it is gone; give block">;
def : CompoundOption<"all", Bool, "everything", ["yes"]>;

#ifdef TWICE
def : Key<"block.share", Size, "0", "how much once more">;
#endif
#ifdef OPTION
def : CompoundOption<"count", Size, "another count">;
#endif
#ifdef NO_FIELD
def : Key<"block.unread", Size, "0", "a value without a place">, Planned<"unread">;
#endif
