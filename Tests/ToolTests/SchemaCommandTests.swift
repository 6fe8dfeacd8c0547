import Glibc
import Testing

/// `moonpool schema` and `moonpool stats`.
@Suite struct SchemaCommandTests {
    static let writer = """
        local store = moonpool.open {
          path = arg[1],
          schema = {
            Dog = { id = "int primary", name = "string indexed", age = "int?", owner = "Person",
              breed = { type = "string", default = "mutt" }, indexes = { {"owner", "age"} } },
            Person = { { "name", "string" }, { "dogs", "Dog[]" }, { "address", "Address" } },
            Address = { embedded = true, street = "string" },
          },
          schema_version = 3,
        }
        store:write(function()
          local ann = store:create("Person", { name = "Ann", address = { street = "Main" } })
          for id = 1, 500 do ann.dogs:append(store:create("Dog", { id = id, name = "d" .. id, owner = ann })) end
        end)
        """

    let folder = try! TemporaryFolder()
    var store: String { folder.path + "/zoo.moonpool" }

    func fill() throws {
        let script = try folder.write(Self.writer, to: "writer.lua")
        try Tool.run([script, store]).expectSuccess()
    }

    @Test func `the schema as Lua defines the same classes`() throws {
        try fill()
        let first = try Tool.run(["schema", store]).expectSuccess()
        #expect(first.error == "")
        let script = try folder.write(first.output, to: "schema.lua")
        let copy = folder.path + "/copy.moonpool"
        try Tool.lua("moonpool.open { path = arg[2], schema = dofile(arg[1]) }", script, copy)
            .expectSuccess()
        #expect(try Tool.run(["schema", copy]).output == first.output)
        // The file accepts the schema without a migration.
        try Tool.lua(
            "moonpool.open { path = arg[2], schema_version = 3, schema = dofile(arg[1]) }", script,
            store
        ).expectSuccess()
    }

    @Test func `other formats and single classes are shown`() throws {
        try fill()
        try Tool.run(["schema", store, "--class", "Address"]).expectOutput(
            """
            return {
              Address = {
                embedded = true,
                street = "string",
              },
            }

            """)
        for (format, start) in [
            ("mermaid", "erDiagram\n"), ("dot", "digraph schema {\n"),
            ("json", "{\"schema_version\":3,\"classes\":["), ("luals", "---@meta\n"),
        ] {
            let outcome = try Tool.run(["schema", store, "--format", format]).expectSuccess()
            #expect(outcome.output.hasPrefix(start), "\(format)")
        }
    }

    @Test func `statistics are shown as text and as JSON`() throws {
        try fill()
        let outcome = try Tool.run(["stats", store]).expectSuccess()
        #expect(outcome.output.hasPrefix("\(store)\n  version         "))
        for part in [
            "schema version  3\n", "objects         502\n", "Address (embedded)", "500 objects",
            "(owner, age)", "version pins    none\n",
        ] { #expect(outcome.output.contains(part), "\(part) in \(outcome.output)") }
        let json = try Tool.run(["stats", "--json", store])
        #expect(json.lines.count == 1)
        let script = """
            local stats = moonpool.json.decode(io.read "a")
            print(stats.objects, stats.schema_version, #stats.classes, stats.classes[2].name, stats.classes[2].objects)
            print(stats.classes[2].indexes[1].properties[1], stats.used_bytes <= stats.file_bytes)
            """
        try Tool.run(["-e", script], input: json.output).expectOutput(
            "502\t3\t3\tDog\t500\nowner\ttrue\n")
    }

    @Test func `an empty store has an empty schema and no classes`() throws {
        try Tool.run(["-e", "moonpool.open(arg[1])", "-", store]).expectSuccess()
        #expect(try Tool.run(["schema", store]).output == "return {}\n")
        #expect(try Tool.run(["stats", store]).output.contains("objects         0\n"))
    }

    // MARK: Failures

    @Test func `a missing class, an unknown format and unknown words are errors`() throws {
        try fill()
        let unknown = try Tool.run(["schema", store, "--class", "Dgo"]).expectExit(1)
        #expect(unknown.error == "moonpool: there is no class 'Dgo'; did you mean 'Dog'?\n")
        try Tool.run(["schema", store, "--format", "xml"]).expectError("mermaid", code: 64)
        try Tool.run(["stats", store, "--jsn"]).expectExit(64)
        try Tool.run(["stats"]).expectExit(64)
    }
}
