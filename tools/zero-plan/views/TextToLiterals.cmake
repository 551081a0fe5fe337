# Writes the lines of the file FROM as raw string literals of C++ to TO.
file(READ ${FROM} text)
string(REPLACE "\n" "\n)page\"\nR\"page(" text "${text}")
file(WRITE ${TO} "R\"page(${text})page\"\n")
