-- The first schema of the shop: all values are text, and a sale contains numbers instead of links.
return {
  schema = {
    Customer = { id = "int primary", name = "string", address = "string", joined = "string" },
    Product = { sku = "string primary", title = "string", price = "string" },
    Sale = { customer = "int", sku = "string", count = "int", day = "string" },
  },
}
