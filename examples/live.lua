-- Live expressions: code that runs again when a value that it has read changes, and totals that follow every commit.
--
-- Prints:
--
--     3 orders, 45.5 in total, first by Ann
--     average: 15.17
--     by status: open 2, paid 1
--     orders by Ann: 1
--     --- pay the first order
--     by status: open 1, paid 2
--     --- add an order by Ann
--     4 orders, 60.0 in total, first by Ann
--     average: 15.00
--     by status: open 2
--     orders by Ann: 2
--     --- rename Ann
--     4 orders, 60.0 in total, first by Anna
--     orders by Anna: 2

local moonpool = require "moonpool"

local store = moonpool.open {
  in_memory = "live",
  schema = {
    Order = { id = "int primary", total = "double", status = "string", customer = "Customer" },
    Customer = { name = "string", orders = "backlinks Order.customer" },
  },
}

local ann, first = store:write(function()
  local ann = store:create("Customer", { name = "Ann" })
  local ben = store:create("Customer", { name = "Ben" })
  local first = store:create("Order", { id = 1, total = 20, status = "open", customer = ann })
  store:create("Order", { id = 2, total = 15.5, status = "paid", customer = ben })
  store:create("Order", { id = 3, total = 10, status = "open", customer = ben })
  return ann, first
end)

local orders = store:objects "Order"

-- An effect runs immediately, and again after each commit that changes a value that it has read.

moonpool.effect(function()
  print(("%d orders, %.1f in total, first by %s"):format(
    orders:count(), orders:sum "total", first.customer.name))
end)

-- Updating observed aggregates takes time proportional to the change, not to the number of orders.

local average = orders:observe_aggregate("average", "total", function(new) print(("average: %.2f"):format(new)) end)

local by_status = orders:group_by("status"):observe_aggregate("count", function(groups)
  local texts = {}
  for status, count in pairs(groups) do texts[#texts + 1] = status .. " " .. count.new end
  table.sort(texts)
  print("by status: " .. table.concat(texts, ", "))
end)

-- A computed value is cached until its inputs change. An effect that reads it runs again only if the value is
-- different.

local line = moonpool.computed(function() return ("orders by %s: %d"):format(ann.name, #ann.orders) end)

store:refresh()
moonpool.effect(function() print(line()) end)

print "--- pay the first order"
store:write(function() first.status = "paid" end)
store:refresh()

print "--- add an order by Ann"
store:write(function() store:create("Order", { id = 4, total = 14.5, status = "open", customer = ann }) end)
store:refresh()

print "--- rename Ann"
store:write(function() ann.name = "Anna" end)
store:refresh()

-- Effects keep a script running, as tokens do.
moonpool.stop()
