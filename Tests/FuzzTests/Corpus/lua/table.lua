return {
  schema = { Dog = { id = "int primary", name = "string" } },
  Dog = {
    { id = 1, name = "a\n\x41\u{1F600}\z   b", big = 1e999, none = nil },
    { id = 2, list = { 1, 2.5, true, "x", { y = 0x1p4 } } },
  },
}
