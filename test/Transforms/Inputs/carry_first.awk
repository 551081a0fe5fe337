# Carries what the first line that `what` matches has started, and waits for that, as a
# pass does that moves the wait to another region.
!started && $0 ~ what {
  started = $1
  print
  print "zero.carry " started " as \"moved\" : " $NF
  print "%moved = zero.carried \"moved\" : " $NF
  next
}
started && index($0, "zero.wait " started " ") {
  sub("zero.wait " started " ", "zero.wait %moved ")
}
{ print }
