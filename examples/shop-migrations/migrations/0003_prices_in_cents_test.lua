local prices = { tea = "4.50", cup = "$12", jam = "3.5" }

return {
  before = function(store)
    for sku, price in pairs(prices) do store:create("Product", { sku = sku, title = sku, price = price }) end
  end,
  after = function(store)
    assert(store:object("Product", "tea").cents == 450)
    assert(store:object("Product", "cup").cents == 1200)
    assert(store:object("Product", "jam").cents == 350)
  end,
  down = function(store) assert(store:object("Product", "jam").price == "3.50") end,
}
