import Reference
import Testing

/// Every example of the catalog runs and prints the documented output.
@Suite struct ReferenceExampleTests {
    /// The examples with their source locations; the example that ends the event loop comes last.
    static let examples: [(name: String, text: String)] =
        HelpCatalog.types.filter { !$0.example.isEmpty }.map { ($0.name, $0.example) }
        + HelpCatalog.entries.filter { entry in
            // The tests of the prompt run the examples of its functions.
            !entry.example.isEmpty && entry.owners != [HelpCatalog.prompt]
                && entry.owners != [HelpCatalog.promptModule]
                && !["complete", "evaluate"].contains(entry.name)
        }.map {
            ("\($0.owners[0].name).\($0.name)", $0.example)
        }.sorted { $1.0 == "moonpool.stop" && $0.0 != "moonpool.stop" }

    /// Returns the documented output of an example.
    static func expected(_ text: String) -> [String] {
        text.split(separator: "\n").compactMap { line in
            var rest = line
            while !rest.isEmpty {
                if rest.hasPrefix("--> ") { return String(rest.dropFirst(4)) }
                rest = rest.dropFirst()
            }
            return nil
        }
    }

    /// Returns a Lua string literal for any text.
    static func quoted(_ text: String) -> String { "[====[\n\(text)]====]" }

    /// A script keeps the address space of its stores until it ends, so several scripts run the examples.
    static let rounds = stride(from: 0, to: examples.count, by: 50).map {
        $0..<min($0 + 50, examples.count)
    }

    @Test(arguments: rounds)
    func `every example runs and prints its documented output`(round: Range<Int>) throws {
        let folder = try TemporaryFolder()
        var script = """
            local names, sources, wanted = {}, {}, {}
            local prelude = \(Self.quoted(HelpCatalog.examplePrelude))

            """
        for (index, example) in Self.examples[round].enumerated() {
            let expected = Self.expected(example.text).joined(separator: "\n")
            script += """
                names[\(index + 1)] = \(Self.quoted(example.name))
                sources[\(index + 1)] = \(Self.quoted(example.text))
                wanted[\(index + 1)] = \(Self.quoted(expected))

                """
        }
        script += """
            for i, source in ipairs(sources) do
              local lines = {}
              local function record(...)
                local words = table.pack(...)
                for n = 1, words.n do words[n] = tostring(words[n]) end
                lines[#lines + 1] = table.concat(words, " ")
              end
              local environment = setmetatable({ print = record }, { __index = _G })
              os.remove "zoo.moonpool"
              -- Each with separate stores, which end with it.
              local text = prelude .. source
              text = text:gsub('in_memory = "(%w+)"', 'in_memory = "%1 ' .. i .. '"')
              text = text:gsub("local store =", "local store <close> =")
              local chunk = assert(load(text, "=" .. names[i], "t", environment))
              local ok, err = xpcall(chunk, debug.traceback)
              if not ok then
                print(names[i] .. ": " .. tostring(err))
              elseif table.concat(lines, "\\n") ~= wanted[i] then
                print(names[i] .. " prints:\\n" .. table.concat(lines, "\\n") .. "\\ninstead of:\\n" .. wanted[i])
              end
            end
            print("examples: " .. #sources)
            os.exit(0, true)
            """
        let path = try folder.write(script, to: "examples.lua")
        let outcome = try Tool.run([path], in: folder.path)
        // A service that finds no server reports it, unless the example stops it before.
        let errors = outcome.error.split(separator: "\n").filter {
            !$0.contains("hint: the service")
        }
        #expect(errors.isEmpty)
        #expect(outcome.output == "examples: \(round.count)\n")
    }
}
