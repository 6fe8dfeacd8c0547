import MoonpoolScripting
import Synchronization

// The Swift code of the article "Embedding" and of README.md, compiled and run. Each block of the article is in this
// file, line by line.

enum EmbeddingSnippets {
    static func first() async throws -> Int {
        let engine = try ScriptEngine(.sandboxed)
        try engine.register("add(a, b)") { (a: Int, b: Int) in a + b }
        let sum = try await engine.run("return add(1, 2)", as: Int.self)
        return sum
    }

    static func typed(_ path: String) async throws -> Int {
        struct Dog: Model { var name = "" }
        let store = try Store(.file(path), models: Dog.self)
        try await store.write { tx in try tx.insert(Dog(name: "Rex")) }
        for dog in store.all(Dog.self).where({ $0.name.hasPrefix("R") }) { print(dog.name) }
        let engine = try ScriptEngine(.sandboxed)
        try await engine.open(.file(path), models: Dog.self, as: "store")
        let count = try await engine.run("return #store:objects 'Dog'", as: Int.self)
        return count
    }

    static func limits(_ folder: String) throws -> ScriptEngine {
        let engine = try ScriptEngine(
            .sandboxed(
                files: .folders([folder + "/data"], reading: [folder + "/library"]),
                limits: ScriptLimits(memory: 32 << 20, time: .seconds(2))))
        return engine
    }

    static func functions(_ engine: ScriptEngine) async throws -> String {
        try engine.register("app.greet(name, times)") { (name: String, times: Int?) in
            String(repeating: "Hello \(name). ", count: times ?? 1)
        }
        try engine.register("app.fetch(key)") { (key: String) async throws -> [String: Double] in
            guard key == "prices" else {
                throw ScriptFunctionError("unknown_key", "there is no '\(key)'")
            }
            return ["table": 100, "chair": 25]
        }
        return try await engine.run(
            """
            local ok, problem = pcall(app.fetch, 'colors')
            return app.greet('Ann', 2) .. problem.code
            """)
    }

    static func classes(_ engine: ScriptEngine) async throws -> Int {
        try engine.register(Account.self)
        let left: Int = try await engine.run(
            """
            local account = Account(100)
            account:withdraw(30)
            return account.balance
            """)
        return left
    }

    static func errors(_ engine: ScriptEngine) async throws -> [String] {
        var seen: [String] = []
        func tell(_ text: String) { seen.append(text) }
        do {
            try await engine.run("local total = nil + 1", named: "rules.lua")
        } catch let failure as ScriptFailure {
            tell("\(failure.code)")
            tell(failure.message)
            tell(failure.traceback ?? "")
        }
        return seen
    }

    struct SoldOut: MoonpoolError {
        var item: String
        var code: ErrorCode { "sold_out" }
        var message: String { "'\(item)' is sold out" }
    }

    static func hostErrors(_ engine: ScriptEngine) async throws -> [String] {
        var seen: [String] = []
        func tell(_ text: String) { seen.append(text) }
        try engine.register("order(item)") { (item: String) in
            guard item == "chair" else { throw SoldOut(item: item) }
            return 25
        }
        do {
            try await engine.run("total = order('chair') + order('table')")
        } catch let error as any MoonpoolError where error.code == "sold_out" {
            tell(error.message)
        }
        return seen
    }

    static func stores(_ engine: ScriptEngine, _ path: String) async throws -> Int {
        try await engine.open(.file(path), as: "store")
        let dogs: Int = try await engine.run(
            """
            store:define { Dog = { name = 'string' } }
            store:write(function() store:create('Dog', { name = 'Rex' }) end)
            return #store:objects 'Dog'
            """)
        return dogs
    }
}

private struct Dog: Model {
    var name = ""
    var age = 0
}
private struct Discount: Codable, Sendable {
    var percent: Int
    var years: Int
}
private struct Tenant: Sendable {
    var name: String
    var calls = 0
}

extension EmbeddingSnippets {
    static func objects(_ engine: ScriptEngine) async throws -> [Int] {
        try await engine.open(.memory("zoo"), models: Dog.self)
        try engine.register("oldest(dogs)") { (dogs: Results<Dog>) in
            dogs.sorted(by: \.age, .descending).first
        }
        try engine.register(Dog.self) { dog in
            dog.method("years(factor)") { (dog: Live<Dog>, factor: Int?) in dog.age * (factor ?? 7)
            }
            dog.property("is_old") { dog in dog.age > 10 }
        }
        let offer: Discount = try await engine.run(
            """
            store:write(function() store:create('Dog', { name = 'Rex', age = 12 }) end)
            local dog = oldest(store:objects 'Dog')
            return { percent = dog.is_old and 10 or 0, years = dog:years() }
            """)
        return [offer.percent, offer.years]
    }

    static func identifiers(_ engine: ScriptEngine, _ path: String) async throws -> Int {
        try await engine.open(.file(path), models: Dog.self, as: "kennel")
        try engine.register("age(dog)") { (dog: ObjectID<Dog>) async throws -> Int? in
            let store = try await Store.open(.file(path), models: Dog.self)
            defer { store.close() }
            return store[dog]?.age
        }
        return try await engine.run(
            """
            local rex = kennel:write(function() return kennel:create('Dog', { age = 5 }) end)
            return age(rex)
            """)
    }

    static func stubs(_ engine: ScriptEngine) async throws -> String {
        try engine.register("discount(dog, percent)") { (dog: Live<Dog>, percent: Int) in
            Double(dog.age * percent) / 100
        }
        let stubs = try await engine.stubs()
        return stubs
    }

    static func state() async throws -> [Int] {
        let engine = try ScriptEngine(.sandboxed, state: Tenant(name: "Ann"))
        try await engine.open(.memory("zoo"), models: Dog.self)
        try engine.register("birthday(dog)") { (call: ScriptCall<Tenant>, dog: Live<Dog>) in
            call.state.calls += 1
            try call.write { _ in dog.age += 1 }
        }
        let age: Int = try await engine.run(
            """
            local dog = store:write(function() return store:create('Dog', { age = 1 }) end)
            birthday(dog)
            store:write(function() birthday(dog) end)
            return dog.age
            """)
        let calls = try await engine.state(as: Tenant.self).calls
        await engine.close()
        return [age, calls]
    }

    static func modules(_ engine: ScriptEngine) async throws -> Int {
        try await engine.load("rules", source: "return { limit = 100 }")
        let limit: Int = try await engine.run("return require('rules').limit")
        return limit
    }

    static func pool(_ folder: String) async throws -> Int {
        let pool = ScriptEnginePool<String>(threads: 4, idleLimit: 1_000) { engine, tenant in
            try await engine.open(.file("\(folder)/\(tenant).moonpool"), models: Dog.self)
        }
        let count: Int = try await pool.withEngine(for: "ann") { engine in
            try await engine.run("return #store:objects 'Dog'")
        }
        await pool.close()
        return count
    }
}

final class Account: ScriptObject {
    private let cents: Mutex<Int>
    init(_ balance: Int) { cents = Mutex(balance) }

    static let scriptClass = ScriptClass<Account>(
        "Account",
        [
            .new("Account(balance)") { (balance: Int) in Account(balance) },
            .method("withdraw(amount)") { (account: Account, amount: Int) in
                account.cents.withLock { $0 -= amount }
            },
            .property("balance") { $0.cents.withLock { $0 } },
        ])
}
