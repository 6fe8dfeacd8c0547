return {
  schema = { Dog = { id = "int primary", first = "string", last = "string", age = "int" } },
  up = function(m)
    m:create("Dog", { id = 1, first = "Ann", last = "Lee", age = 3 })
    m:create("Dog", { id = 2, first = "Bob", last = "Ray", age = 5 })
  end,
}
