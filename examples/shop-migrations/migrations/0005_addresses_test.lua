return {
  before = function(store)
    local function customer(id, address)
      store:create("Customer", { id = id, first_name = "A", last_name = "B", address = address, joined = "2026-01-31" })
    end
    customer(1, "1 Low Road, 10115 Berlin")
    customer(2, "unknown")
    store:create("Product", { sku = "tea", title = "Tea", cents = 450 })
  end,
  after = function(store)
    local first = store:object("Customer", 1)
    assert(first.address.zip == "10115" and first.address.city == "Berlin")
    assert(store:object("Customer", 2).address == nil)
    assert(first.joined == moonpool.date "2026-01-31T00:00:00Z")
    assert(store:object("Product", "tea").name == "Tea")
  end,
}
