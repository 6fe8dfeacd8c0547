-- Stores prices as whole cents, because text cannot be added.
return {
  schema = {
    Customer = {
      id = "int primary", first_name = "string", last_name = "string indexed", address = "string", joined = "string",
    },
    Product = { sku = "string primary", title = "string", cents = "int" },
    Sale = { customer = "int", sku = "string", count = "int", day = "string" },
  },

  drops = { "Product.price" },

  up = function(m)
    m:each("Product", function(old, new)
      local whole, rest = old.price:match "^%$?(%d+)%.?(%d*)$"
      if not whole then error(("%s has no price: '%s'"):format(old.sku, old.price)) end
      new.cents = tonumber(whole) * 100 + tonumber((rest .. "00"):sub(1, 2))
    end)
  end,

  down = function(m)
    m:each("Product", function(old, new) new.price = ("%d.%02d"):format(old.cents // 100, old.cents % 100) end)
  end,
}
