import ObjectStore
import Reference
import TestThreads
import Testing

/// Errors that the linter finds in scripts, and code that it accepts.
@Suite struct LinterTests {
    static let zoo = """
        local store = moonpool.open { in_memory = "zoo", schema = {
          Dog = { id = "int primary", name = "string", age = "int?", owner = "Person", toys = "Toy[]" },
          Person = { name = "string primary", dogs = "backlinks Dog.owner" },
          Toy = { name = "string", price = "double" },
        } }

        """

    /// Returns `line:column: message` for each finding; line 1 is the script's first line.
    static func lint(_ script: String, onZoo: Bool = false) -> [String] {
        let skipped =
            onZoo ? zoo.split(separator: "\n", omittingEmptySubsequences: false).count - 1 : 0
        return Linter().findings(in: (onZoo ? zoo : "") + script).map {
            "\($0.line - skipped):\($0.column): \($0.message)"
        }
    }

    // MARK: - Errors

    @Test(arguments: [
        ("local x = = 1", "1:11: unexpected symbol near '='"),
        ("print('a'\nprint('b')", "2:1: "), ("if x then", "1:10: "), ("goto nowhere", "1:"),
        ("x = \"abc", "1:9: unfinished string near"),
    ])
    func `syntax errors have a line and a column`(script: String, expected: String) {
        let found = Self.lint(script)
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix(expected) == true, "\(found)")
    }

    @Test(arguments: [
        ("prnt(1)", "1:1: unknown global 'prnt'; did you mean 'print'?"),
        ("local a = 1\nlocal function f() return a + bb end", "2:31: unknown global 'bb'"),
        ("for i = 1, 3 do end print(i)", "1:27: unknown global 'i'"),
        ("do local x = 1 end return x", "1:27: unknown global 'x'"),
        ("local x = x", "1:11: unknown global 'x'"),
        ("#!/usr/bin/env moonpool\nprnt(1)", "2:1: unknown global 'prnt'; did you mean 'print'?"),
        ("print('ä', undefd)", "1:12: unknown global 'undefd'"),
        ("print(string.formt('x'))", "1:14: 'string' has no 'formt'; did you mean 'format'?"),
        ("print(math.flor(1))", "1:12: 'math' has no 'flor'; did you mean 'floor'?"),
        ("moonpool.opne 'x'", "1:10: moonpool has no function 'opne'; did you mean 'open'?"),
        (
            "local m = require 'moonpool'\nm.jsn.encode(1)",
            "2:3: moonpool has no function 'jsn'; did you mean 'json'?"
        ),
        (
            "moonpool.json.encod(1)",
            "1:15: moonpool.json has no function 'encod'; did you mean 'encode'?"
        ),
        (
            "moonpool.open { pth = 'x' }",
            "1:17: open has no option 'pth'; did you mean 'path'?"
        ),
    ])
    func `unknown names are reported with a similar one`(script: String, expected: String) {
        #expect(Self.lint(script) == [expected])
    }

    @Test(arguments: [
        ("store:crete('Dog', {})", "1:7: store has no method 'crete'; did you mean 'create'?"),
        (
            "store.create('Dog', {})",
            "1:7: 'create' is a method of store: write :create(…) with a colon"
        ),
        ("print(store.verson)", "1:13: store has no member 'verson'; did you mean 'version'?"),
        ("store:objects 'Dgo'", "1:16: there is no class 'Dgo'; did you mean 'Dog'?"),
        (
            "store:create('Dog', { nam = 'x' })",
            "1:23: 'Dog' has no property 'nam'; did you mean 'name'?"
        ),
        (
            "store:objects('Dog'):where 'aeg > 1'",
            "1:29: 'Dog' has no property 'aeg'; did you mean 'age'?"
        ),
        (
            "local dogs = store:objects 'Dog'\nprint(#dogs:where('name == $1 and owner.nmae == $2', 1, 2))",
            "2:41: 'Person' has no property 'nmae'; did you mean 'name'?"
        ),
        (
            "store:objects('Dog'):where [[\n  aeg > 1]]",
            "2:3: 'Dog' has no property 'aeg'; did you mean 'age'?"
        ),
        (
            "store:objects('Dog'):where { naem = 'x' }",
            "1:30: 'Dog' has no property 'naem'; did you mean 'name'?"
        ),
        (
            "store:objects('Dog'):sortd('age')",
            "1:22: Results has no method 'sortd'; did you mean 'sorted'?"
        ),
        (
            "store:objects('Dog'):sorted('ag')",
            "1:30: unknown property 'ag' in 'Dog', in the key path 'ag'; did you mean 'age'?"
        ),
        (
            "store:objects('Dog'):group_by { 'name', { 'ag', 'desc' } }",
            "1:44: unknown property 'ag' in 'Dog', in the key path 'ag'; did you mean 'age'?"
        ),
        (
            "store:objects('Dog'):where('age geoWithin geoBox([1, 1], [2, 2])')",
            "1:29: 'Dog.age' (int?) is not a place: a place is an embedded object with 'coordinates', or a map with 'longitude' and 'latitude'"
        ),
        (
            "for dog in store:objects('Dog'):each() do print(dog.nmae) end",
            "1:53: 'Dog' has no property 'nmae'; did you mean 'name'?"
        ),
        (
            "for _, dog in ipairs(store:objects 'Dog') do dog.owner.nme = 1 end",
            "1:56: 'Person' has no property 'nme'; did you mean 'name'?"
        ),
        (
            "local rex = store:object('Dog', 1)\nprint(rex.toys[1].prce)",
            "2:19: 'Toy' has no property 'prce'; did you mean 'price'?"
        ),
        (
            "local t = store:objects('Dog'):observe(function(c) print(c.insertons) end)",
            "1:60: change has no member 'insertons'; did you mean 'insertions'?"
        ),
        (
            "local t = store:objects('Dog'):observe(function() end, { keypath = { 'age' } })",
            "1:58: observe has no option 'keypath'; did you mean 'keypaths'?"
        ),
        (
            "local t = store:objects('Dog'):observe(function() end, { keypaths = { 'owner.nam' } })",
            "1:72: unknown property 'nam' in 'Person', in the key path 'owner.nam'; did you mean 'name'?"
        ),
        ("store:objects('Dog'):sorted('toys.@foo')", "1:35: unknown operation '@foo'"),
        (
            "store:objects('Dog'):distinct('age', 'age[1]')",
            "1:43: 'Dog.age' is int?, not a list, and has no elements"
        ),
        (
            "local t = store:objects('Dog'):observe_aggregate('max', 'toys.price', print)",
            "1:58: the key path 'toys.price' goes through the list 'toys', and max needs one value of each object; write 'toys.@count', 'toys.@sum.price', 'toys.@min.price', 'toys.@max.price', 'toys.@avg.price' or 'toys[1].price'; conditions also take 'any toys.price'"
        ),
        (
            "print(store:object('Dog', 1):get 'toys.@sum.prise')",
            "1:45: 'Toy' has no property 'prise'; did you mean 'price'?"
        ),
        (
            "store:objects('Dog'):where 'age >'",
            "1:34: expected a value or a property, got the end"
        ),
        (
            "store:objects('Dog'):where \"age > 'x'\"",
            "1:35: 'Dog.age' (int?) cannot be compared with a string"
        ),
    ])
    func `unknown members are reported if the receiver's type is certain`(
        script: String, expected: String
    ) {
        #expect(Self.lint(script, onZoo: true) == [expected])
    }

    @Test func `a literal schema is checked`() {
        #expect(
            Self.lint("moonpool.open { in_memory = 'x', schema = { Dog = { age = 'itn' } } }") == [
                "1:60: 'Dog.age': 'itn' is not a type; did you mean 'int'?"
            ])
        #expect(
            Self.lint(
                "moonpool.open { in_memory = 'x', schema = { Dog = { owner = 'Persn' }, Person = {} } }"
            )
                == [
                    "1:62: 'Dog.owner' links to class 'Persn', which is not declared; did you mean 'Person'?"
                ])
    }

    // MARK: - Valid code

    @Test(arguments: [
        "local unpack = table.unpack or unpack", "if jit then print(jit.version) end",
        "local f = loadstring or load", "local ok = setfenv ~= nil and setfenv",
        "counter = (counter or 0) + 1 print(counter)", "function helper() end helper()",
        "_G.made = 1 print(made)", "_G['other'] = 1 print(other)", "local _ENV = {} x = y",
        "function string.trim(s) return s end print(string.trim(' x '))",
        "setmetatable(_G, { __index = function() end }) print(whatever)",
        "dofile('lib.lua') lib_function()", "goto done ::done::",
        "local t = { print = 1, prnt = 2 } print(t.prnt)", "local s = ('x'):rep(3)",
        "for k, v in pairs(arg) do print(k, v) end", "return ...",
        "local function fact(n) return n <= 1 and 1 or n * fact(n - 1) end",
        "local x <const>, y <close> = 1, nil print(x, y)", "repeat local z = 1 until z == 1",
        "local a = #arg // 2 ~ 3 & 4 | 5 << 1 >> 2 .. 'x'", "a, b = b, a",
        "local m = setmetatable({}, { __index = table }) m:insert(1)",
        "moonpool.mine = function() end moonpool.mine()",
        "moonpool.on_error = function(err, token) print(err, token) end",
        "print(moonpool.observe, moonpool.where)",
    ])
    func `idioms of Lua are not reported`(script: String) {
        #expect(Self.lint(script) == [])
    }

    @Test(arguments: [
        "local s = store s = nil", "store:define { Cat = { name = 'string' } } store:objects 'Cat'",
        "local s = { objects = print } s.objects 'Dgo'", "pcall(store.begin_write, store)",
        "store.create(store, 'Dog', { id = 1, name = 'x' })",
        "local name = 'Do' .. 'g' store:objects(name):where('whatever')",
        "store:objects('Dog'):where('toys[1].price > $1 and owner.dogs.@count > 0', 3)",
        "local function f(store) store:anything() end", "store:objects('Dog'):sum 'age'",
        "store:write(function() local d = store:create('Dog', { id = 1, name = 'x' }) d.age = 2 end)",
        "moonpool.observe(store:object('Dog', 1), function(change) print(change.properties) end)",
        "local d = store:object('Dog', 1) print(d.class, d.store, d:to_table(2), d['age'])",
        "local r = store:objects('Dog') r = r:where('age > 1') print(r.anything)",
        "store:objects('Toy'):where('name == \\'x\\'')",
        "local t = store:object('Dog', 1):observe_value('toys', print) store:objects('Dog'):sum 'toys[1].price'",
        "local t = store:object('Dog', 1):observe(print, { keypaths = { 'toys.*', 'toys.@sum.price', 'owner' } })",
        "for _, s in ipairs(store:objects('Dog'):group_by('age')) do print(s.key, #s.objects) end",
        "local other = moonpool.open { in_memory = 'o', schema = make() } local function make() end",
    ])
    func `valid code and uncertain cases are not reported`(script: String) {
        let found = Self.lint(script, onZoo: true).filter { !$0.contains("'make'") }
        #expect(found == [])
    }

    @Test func `a store's schema is used for scripts that open its file or a computed path`()
        throws
    {
        let schema = try Schema.planned([ClassSchema("Dog", [Property("name", .string)])])
        let linter = Linter(schema: schema, storePath: "/data/zoo.moonpool", globals: ["mine"])
        func found(_ script: String) -> [String] { linter.findings(in: script).map(\.message) }
        #expect(found("store:objects 'Dgo'").count == 1)
        #expect(found("local s = moonpool.open 'zoo.moonpool' s:objects 'Dgo'").count == 1)
        #expect(found("local s = moonpool.open(arg[1]) s:objects 'Dgo'").count == 1)
        #expect(found("local s = moonpool.open { path = arg[1] } s:objects 'Dgo'").count == 1)
        #expect(found("local s = moonpool.open 'other.moonpool' s:objects 'Dgo'") == [])
        #expect(found("local s = moonpool.open { in_memory = 'm' } s:objects 'Dgo'") == [])
        #expect(found("mine()") == [])
    }

    // MARK: - Invalid input

    @Test func `invalid and deeply nested code causes findings, never a crash`() {
        let deep = [
            String(repeating: "(", count: 100_000), String(repeating: "{", count: 100_000),
            "local x = " + String(repeating: "1+", count: 100_000) + "1",
            "local x = " + String(repeating: "not ", count: 100_000) + "1",
            "local x = " + String(repeating: "(", count: 190) + "1"
                + String(repeating: ")", count: 190),
            "x" + String(repeating: ".y", count: 50_000) + " = 1",
            "local x = arg" + String(repeating: ":f()", count: 50_000),
            "\u{0}\u{1}\u{FF}", "", "#", "\n\n\n", "]]--[[", "'\\", "local x <", "for", "function",
            "a.b:",
        ]
        for script in deep { _ = Linter().findings(in: script) }
        var generator = SeededGenerator(seed: 1)
        let words = [
            "local", "function", "end", "if", "then", "(", ")", "{", "}", "[", "]", "=", "x", ".",
            ":",
            "'s'", "1", ",", "for", "in", "do", "while", "repeat", "until", "return", "moonpool",
            "open",
            "store", "objects", "..", "and", "not", "::", "goto", "\n", "--", "[[", "]]", "<const>",
        ]
        for _ in 0..<500 {
            let script = (0..<Int.random(in: 1...40, using: &generator))
                .map { _ in words.randomElement(using: &generator)! }.joined(separator: " ")
            _ = Linter().findings(in: script)
        }
    }
}
