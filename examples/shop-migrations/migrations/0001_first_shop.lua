-- What the shop began with: everything is text, and a sale knows numbers instead of objects.
return {
  schema = {
    Customer = { id = "int primary", name = "string", address = "string", joined = "string" },
    Product = { sku = "string primary", title = "string", price = "string" },
    Sale = { customer = "int", sku = "string", count = "int", day = "string" },
  },
}
