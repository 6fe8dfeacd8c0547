local store = moonpool.open {
  in_memory = "zoo",
  schema = {
    Dog = {
      id = "int primary", name = "string", age = "int?", owner = "Person", toys = "Toy[]",
      breed = { type = "string", indexed = true, default = "mutt" },
      tags = "string<>", marks = "int[]", notes = "string{}", extra = "mixed",
    },
    Person = { name = "string primary", dogs = "backlinks Dog.owner" },
    Toy = { name = "string", price = "double" },
  },
}

local ann, rex, max, dogs = store:write(function()
  local ann = store:create("Person", { name = "Ann" })
  local rex = store:create("Dog", {
    id = 1, name = "Rex", age = 7, owner = ann, tags = { "calm", "big" }, marks = { 3, 1, 2 },
    toys = { { name = "ball", price = 3 }, { name = "bone", price = 1.5 } }, notes = { food = "fish" },
  })
  local max = store:create("Dog", { id = 2, name = "Max", age = 3, breed = "boxer", owner = ann })
  return ann, rex, max, store:objects("Dog")
end)
