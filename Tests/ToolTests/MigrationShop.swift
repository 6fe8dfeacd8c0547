import Glibc
import Testing

/// A folder with a store and its three migrations.
struct MigrationShop {
    let folder: TemporaryFolder
    var store: String { folder.path + "/shop.moonpool" }
    var migrations: String { folder.path + "/migrations" }

    static let first = """
        return {
          schema = { Person = { id = "int primary", first = "string", last = "string", age = "string" } },
          up = function(m)
            for id = 1, 5 do
              m:create("Person", { id = id, first = "F" .. id, last = "L" .. id, age = tostring(20 + id) })
            end
          end,
        }
        """

    static let second = """
        -- Joins the names.
        return {
          schema = { Person = { id = "int primary", name = "string", age = "string" } },
          drops = { "Person.first", "Person.last" },
          up = function(m)
            m:each("Person", function(old, new) new.name = old.first .. " " .. old.last end)
          end,
          down = function(m)
            m:each("Person", function(old, new) new.first, new.last = old.name:match "(.*) (.*)" end)
          end,
        }
        """

    static let third = """
        return {
          schema = { Person = { id = "int primary", name = "string", age = "int", note = "string?" } },
          up = function(m)
            m:each("Person", function(old, new)
              new.age = tonumber(old.age) or error("no age: " .. old.age)
            end)
          end,
        }
        """

    static let names = ["0001_people.lua", "0002_names.lua", "0003_ages.lua", "0004_last.lua"]

    init(_ migrations: [String] = [first, second, third]) throws {
        folder = try TemporaryFolder()
        mkdir(self.migrations, 0o755)
        for (name, text) in zip(Self.names, migrations) { try write(text, to: name) }
    }

    /// Writes a migration or a test of a migration.
    @discardableResult  // because most callers need only the folder
    func write(_ text: String, to name: String) throws -> String {
        try folder.write(text, to: "migrations/" + name)
    }

    /// Runs `moonpool migrate COMMAND STORE --dir …`.
    func migrate(_ command: String, _ options: String...) throws -> Tool.Outcome {
        try Tool.run(["migrate", command, store, "--dir", "migrations"] + options, in: folder.path)
    }

    /// Starts `moonpool migrate COMMAND STORE --dir …`.
    func start(_ command: String, _ options: String...) throws -> Subprocess {
        try Subprocess(
            Tool.path, ["migrate", command, store, "--dir", "migrations"] + options,
            in: folder.path)
    }

    /// Runs `moonpool migrate COMMAND … --dir …`, which needs no store or has its name as an option.
    func migrateFolder(_ words: String...) throws -> Tool.Outcome {
        try Tool.run(["migrate"] + words + ["--dir", "migrations"], in: folder.path)
    }

    /// Runs `moonpool migrate test`.
    func test(_ options: String...) throws -> Tool.Outcome {
        try Tool.run(["migrate", "test", "migrations"] + options, in: folder.path)
    }

    /// Returns the value of an expression that uses `store`.
    func value(_ expression: String) throws -> String {
        let outcome = try Tool.lua(
            "local store = moonpool.open(arg[1]) print(\(expression))", store)
        #expect(outcome.error == "")
        return String(outcome.output.dropLast())
    }

    /// Expects the values of expressions that use `store`, read by one process.
    func expectValues(
        _ values: KeyValuePairs<String, String>, at location: SourceLocation = #_sourceLocation
    ) throws {
        let found = try value(values.map(\.key).joined(separator: ", "))
        let expected = values.map(\.value).joined(separator: "\t")
        #expect(found == expected, sourceLocation: location)
    }

    /// Returns the export of a store.
    static func export(_ store: String, _ options: String...) throws -> String {
        let outcome = try Tool.run(["export", store, "-"] + options).expectSuccess()
        return outcome.output
    }

    /// Expects values of a JSON outcome by their paths, read by one process.
    static func expectJSON(
        _ outcome: Tool.Outcome, _ values: KeyValuePairs<String, String>,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        let found = try json(outcome, values.map(\.key).joined(separator: ", r."))
        let expected = values.map(\.value).joined(separator: "\t")
        #expect(found == expected, sourceLocation: location)
    }

    /// Returns a value of a JSON outcome by its path, such as `applied[1].number`.
    static func json(_ outcome: Tool.Outcome, _ path: String) throws -> String {
        let result = try Tool.run(
            ["-e", "local r = moonpool.json.decode(io.read 'a') print(r.\(path))"],
            input: outcome.output)
        #expect(result.error == "")
        return String(result.output.dropLast())
    }
}
