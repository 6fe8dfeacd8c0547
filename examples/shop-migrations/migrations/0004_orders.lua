-- The purchases of a customer on one day become an order with embedded lines, which link to products.
return {
  schema = {
    Customer = {
      id = "int primary", first_name = "string", last_name = "string indexed", address = "string", joined = "string",
      orders = "backlinks Order.customer",
    },
    Product = { sku = "string primary", title = "string", cents = "int" },
    Order = { number = "int primary", customer = "Customer", day = "date", lines = "Line[]" },
    Line = { product = "Product", count = "int", embedded = true },
  },

  up = function(m)
    local orders, number = {}, 0
    for sale in m.old:objects("Sale"):sorted({ { "day" }, { "customer" } }):each() do
      local key = sale.day .. " " .. sale.customer
      if not orders[key] then
        number = number + 1
        orders[key] = m:create("Order", {
          number = number,
          customer = m.new:object("Customer", sale.customer),
          day = moonpool.date(sale.day .. "T00:00:00Z"),
        })
      end
      orders[key].lines:append { product = m.new:object("Product", sale.sku), count = sale.count }
    end
    m:delete_class("Sale")
  end,

  down = function(m)
    for order in m.old:objects("Order"):each() do
      for _, line in ipairs(order.lines) do
        m:create("Sale", {
          customer = order.customer.id, sku = line.product.sku, count = line.count, day = tostring(order.day):sub(1, 10),
        })
      end
    end
    m:delete_class("Order")
  end,
}
