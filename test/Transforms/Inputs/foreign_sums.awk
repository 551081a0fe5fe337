# Gives the first second step of an exchange another operand, which is freed as that is.
/exchange_gradients between/ && !sums {
  match($0, /\(%[0-9a-z]+ : [^)]*\)/)
  split(substr($0, RSTART + 1, RLENGTH - 2), operand, " : ")
  sums = operand[1] " : "
  print "%foreign = builtin.unrealized_conversion_cast to " operand[2]
  sub(sums, "%foreign : ")
}
sums && index($0, "zero.free " sums) {
  print
  sub(sums, "%foreign : ")
}
{ print }
