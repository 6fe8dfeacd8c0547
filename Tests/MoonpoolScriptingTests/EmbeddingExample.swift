// A shop with discount rules in Lua. The scripts can read orders and query the stock, but have no other access. A
// script that does not end or needs too much memory is stopped.
//
// It prints:
//   cheap.lua: 10.0 off
//   stock.lua: 25.0 off, note: 3 tables left
//   greedy.lua: stopped (the limit of 20000000 instructions was reached)
//   curious.lua: failed (curious.lua:1: attempt to index a nil value (global 'io'))
//   wrong.lua: failed (the result: number expected, got string)

import MoonpoolScripting

/// The properties of an order that a rule can read.
final class Order: ScriptObject {
    let item: String
    let price: Double

    init(item: String, price: Double) {
        self.item = item
        self.price = price
    }

    static let scriptClass = ScriptClass<Order>(
        "Order", [.property("item") { $0.item }, .property("price") { $0.price }])
}

/// The stock of the shop, which many tasks can query at the same time.
actor Stock {
    private var counts = ["table": 3, "chair": 12]

    func count(of item: String) throws -> Int {
        guard let count = counts[item] else {
            throw ScriptFunctionError("unknown_item", "unknown item '\(item)'")
        }
        return count
    }
}

struct Shop {
    let write: @Sendable (String) -> Void

    static let rules = [
        ("cheap.lua", "return order.price < 50 and 0 or order.price * 0.1"),
        (
            "stock.lua",
            """
            local left = stock(order.item)
            say(left .. ' ' .. order.item .. 's left')
            return left < 5 and order.price / 4 or 0
            """
        ),
        ("greedy.lua", "while true do pcall(function() while true do end end) end"),
        ("curious.lua", "return io.open('/etc/passwd')"),
        ("wrong.lua", "return 'everything'"),
    ]

    func open() async throws {
        // The limit counts instructions instead of time, so that it does not depend on the load of the machine.
        let limits = ScriptLimits(memory: 16 << 20, instructions: 20_000_000)
        let engine = try ScriptEngine(.sandboxed(limits: limits))
        let stock = Stock()
        let notes = Notes()
        try engine.register("stock(item)") { (item: String) async throws in
            try await stock.count(of: item)
        }
        try engine.register("say(text)") { (text: String) async in await notes.add(text) }
        try engine.set("order", to: Order(item: "table", price: 100))

        for (name, rule) in Self.rules {
            do {
                let discount = try await engine.run(rule, named: name, as: Double.self)
                write("\(name): \(discount) off\(await notes.take())")
            } catch let failure as ScriptFailure where failure.code == "limit_exceeded" {
                write("\(name): stopped (\(failure.message))")
            } catch {
                write("\(name): failed (\(error))")
            }
        }
        await engine.close()
    }
}

/// The notes of a rule.
actor Notes {
    private var lines: [String] = []
    func add(_ line: String) { lines.append(line) }
    func take() -> String {
        defer { lines = [] }
        return lines.isEmpty ? "" : ", note: " + lines.joined(separator: ", ")
    }
}
