return {
  before = function(store)
    store:create("Customer", { id = 1, first_name = "Ann", last_name = "Lee", address = "", joined = "2026-01-01" })
    store:create("Product", { sku = "tea", title = "Tea", cents = 450 })
    store:create("Product", { sku = "cup", title = "Cup", cents = 1200 })
    store:create("Sale", { customer = 1, sku = "tea", count = 2, day = "2026-02-01" })
    store:create("Sale", { customer = 1, sku = "cup", count = 1, day = "2026-02-01" })
    store:create("Sale", { customer = 1, sku = "tea", count = 5, day = "2026-03-01" })
  end,
  after = function(store)
    local ann = store:object("Customer", 1)
    assert(#ann.orders == 2)
    local first = store:object("Order", 1)
    assert(first.day == moonpool.date "2026-02-01T00:00:00Z")
    assert(#first.lines == 2 and first.lines[2].product.title == "Cup")
    assert(not store:schema().Sale)
  end,
  down = function(store)
    assert(#store:objects "Sale" == 3)
    assert(store:objects("Sale"):where("sku == 'tea'"):sum "count" == 7)
  end,
}
