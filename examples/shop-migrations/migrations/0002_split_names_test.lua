local function customer(store, id, name)
  store:create("Customer", { id = id, name = name, address = "", joined = "2026-01-01" })
end

return {
  {
    name = "names of two and more words",
    before = function(store)
      customer(store, 1, "Ann Lee")
      customer(store, 2, "Mary Ann Ray")
    end,
    after = function(store)
      assert(store:object("Customer", 1).last_name == "Lee")
      assert(store:object("Customer", 2).first_name == "Mary Ann")
    end,
    down = function(store) assert(store:object("Customer", 2).name == "Mary Ann Ray") end,
  },
  {
    name = "a single name",
    before = function(store) customer(store, 1, "Plato") end,
    after = function(store)
      local plato = store:object("Customer", 1)
      assert(plato.first_name == "" and plato.last_name == "Plato")
    end,
    down = function(store) assert(store:object("Customer", 1).name == "Plato") end,
  },
}
