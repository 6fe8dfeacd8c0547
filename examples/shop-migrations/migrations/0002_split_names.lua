-- Splits names into first and last names, for letters and for sorting.
return {
  schema = {
    Customer = {
      id = "int primary", first_name = "string", last_name = "string indexed", address = "string", joined = "string",
    },
    Product = { sku = "string primary", title = "string", price = "string" },
    Sale = { customer = "int", sku = "string", count = "int", day = "string" },
  },

  drops = { "Customer.name" },

  up = function(m)
    m:each("Customer", function(old, new)
      -- A single name is the last name.
      local first, last = old.name:match "^(.*)%s+(%S+)$"
      new.first_name, new.last_name = first or "", last or old.name
    end)
  end,

  down = function(m)
    m:each("Customer", function(old, new)
      new.name = old.first_name == "" and old.last_name or old.first_name .. " " .. old.last_name
    end)
  end,
}
