import Foundation
import Testing

@testable import REPL

@Suite struct ResultModeTests {
    private static let dogs = """
        store:define {
          Person = { name = "string primary" },
          Dog = { id = "int primary", name = "string?", owner = "Person", tags = "string[]" } }
        store:write(function()
          store:create("Dog", { id = 1, name = 'a "b", c', owner = { name = "Ann" }, tags = { "x", "y|z" } })
          store:create("Dog", { id = 2, tags = {} })
        end)
        """

    private func session(_ mode: String) throws -> TestSession {
        let session = try TestSession()
        _ = try session.run(Self.dogs)
        #expect(try session.run(".mode \(mode)") == "output mode: \(mode)")
        return session
    }

    @Test(arguments: [
        (
            "json",
            """
            [
              {"id":1,"name":"a \\"b\\", c","owner":"Ann","tags":["x","y|z"]},
              {"id":2,"name":null,"owner":null,"tags":[]}
            ]
            """
        ),
        (
            "jsonl",
            """
            {"id":1,"name":"a \\"b\\", c","owner":"Ann","tags":["x","y|z"]}
            {"id":2,"name":null,"owner":null,"tags":[]}
            """
        ),
        (
            "csv",
            """
            id,name,owner,tags
            1,"a ""b"", c",Ann,"[""x"",""y|z""]"
            2,,,[]
            """
        ),
        (
            "lua",
            """
            {
              { id = 1, name = "a \\"b\\", c", owner = "Ann", tags = { "x", "y|z" } },
              { id = 2, name = nil, owner = nil, tags = {} }
            }
            """
        ),
        (
            "markdown",
            """
            | id | name | owner | tags |
            | --- | --- | --- | --- |
            | 1 | a "b", c | Ann | ["x","y\\|z"] |
            | 2 |  |  | [] |
            """
        ),
    ]) func `every mode writes objects in its format`(_ mode: String, _ expected: String) throws {
        #expect(try session(mode).run("store:objects('Dog'):sorted 'id'") == expected)
    }

    @Test func `single values, tables and empty results are written`() throws {
        let session = try session("json")
        #expect(try session.run("1.5, 'a', nil, true") == "1.5\n\"a\"\nnull\ntrue")
        #expect(try session.run("{ b = { 1, 2 }, a = 'x' }") == "{\"a\":\"x\",\"b\":[1,2]}")
        #expect(try session.run("{ 1, 'b' }") == "[\n  1,\n  \"b\"\n]")
        #expect(try session.run("store:objects('Dog'):where 'id > 9'") == "[]")
        #expect(try session.run("store:object('Dog', 2).tags") == "[]")
        _ = try session.run(".mode csv")
        #expect(try session.run("{ { a = 1 }, { b = 'x' } }") == "a,b\n1,\n,x")
        #expect(try session.run("{ 'one', 'two' }") == "value\none\ntwo")
        #expect(try session.run("7") == "value\n7")
    }

    @Test func `values without a format are shown as at the prompt`() throws {
        let session = try session("jsonl")
        #expect(try session.run("print").hasPrefix("function"))
        #expect(try session.run("store").hasPrefix("store"))
        #expect(try session.run("{ print }").hasPrefix("{ function"))
        #expect(
            try session.run(".mode xml")
                == "unknown mode 'xml'; use table, json, jsonl, csv, line, lua, markdown")
        #expect(try session.run("(function() local t = {} t.t = t return t end)()") != "")
    }

    @Test func `a long result can be stopped`() throws {
        let session = try session("jsonl")
        let text = try session.runAndInterrupt(
            "(function() local t = {} for i = 1, 300000 do t[i] = { a = i } end return t end)()")
        #expect(text.hasPrefix("{\"a\":1}\n"))
        #expect(text.contains("interrupted"))
        #expect(try session.run("1") == "1")
    }

    @Test func `.once and .output write to files`() throws {
        let session = try session("csv")
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).csv").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        func text() throws -> String { try String(contentsOfFile: path, encoding: .utf8) }
        #expect(try session.run(".once \(path)") == "")
        #expect(try session.run("x = 5") == "")
        #expect(try session.run("nothing.x").contains("attempt to index"))
        #expect(try session.run("store:objects('Dog'):where('id = 2')") == "")
        #expect(try text() == "id,name,owner,tags\r\n2,,,[]\r\n")
        #expect(try session.run("1") == "value\n1")
        #expect(try session.run(".output \(path)") == "")
        _ = try session.run(".mode table")
        _ = try session.run("'a'")
        _ = try session.run("store:objects 'Dog'")
        _ = try session.run(".output")
        #expect(try session.run("2") == "2")
        #expect(try text().hasPrefix("\"a\"\n"))
        #expect(try text().hasSuffix("2 Dog\n"))
        #expect(try session.run(".output /nowhere/x").hasPrefix("cannot write /nowhere/x: No such"))
        #expect(try session.run(".once").hasPrefix("expected a file name"))
        #expect(try session.run(".once |cat").hasPrefix("piping a result to a program"))
        #expect(try session.run(".output |cat").hasPrefix("piping a result to a program"))
    }
}
