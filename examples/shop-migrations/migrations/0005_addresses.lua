-- Splits addresses, converts dates, and renames the titles of products to names.
return {
  schema = {
    Customer = {
      id = "int primary", first_name = "string", last_name = "string indexed", address = "Address", joined = "date",
      orders = "backlinks Order.customer",
    },
    Address = { street = "string", zip = "string", city = "string indexed", embedded = true },
    Product = { sku = "string primary", name = "string", cents = "int" },
    Order = { number = "int primary", customer = "Customer", day = "date", lines = "Line[]" },
    Line = { product = "Product", count = "int", embedded = true },
  },

  -- Addresses that cannot be split are dropped.
  drops = { "Customer.address" },

  up = function(m)
    m:rename_property("Product", "title", "name")
    m:each("Customer", function(old, new)
      new.joined = moonpool.date(old.joined .. "T00:00:00Z")
      local street, zip, city = old.address:match "^(.-),%s*(%d+)%s+(.+)$"
      if street then new.address = { street = street, zip = zip, city = city } end
    end)
  end,
}
