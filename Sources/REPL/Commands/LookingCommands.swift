import LuaHost
import ObjectStore
import Reference
import Replication
import StoreBindings

extension MetaCommand {
    fileprivate static let noClasses =
        "no classes yet; create one with store:define { Dog = { name = \"string\" } }\n"

    static var looking: [MetaCommand] {
        [
            MetaCommand(
                "schema", "[class] [--tree | --lua | --mermaid | --dot]",
                "Show the classes as boxes with their links, one class as a tree, or the schema in another form.",
                argument: .schema,
                isPaged: true
            ) { session, text in
                try session.writeSchema(text.split(separator: " ").map(String.init))
            },
            MetaCommand(
                "classes", "", "List the classes with their objects and bytes.", isPaged: true
            ) { session, _ in
                let store = try session.requireStore().store
                let view = store.view
                guard !view.schema.classes.isEmpty else { return session.write(noClasses) }
                // In a write transaction, statistics describe the last commit.
                let found = store.isInWrite ? [] : try store.statistics().classes
                let bytes = Dictionary(
                    found.map { ($0.name, $0.bytes) }, uniquingKeysWith: { first, _ in first })
                let rows = try view.schema.classes.map { found in
                    [
                        found.name, ValueText.count(try view.count(of: found)),
                        bytes[found.name].map { ValueText.count($0) } ?? "-",
                        found.properties.map(\.name).joined(separator: ", "),
                    ]
                }
                session.writeTable(
                    [["class", "objects", "bytes", "properties"]] + rows, numeric: [1, 2])
            },
            MetaCommand(
                "explain", "QUERY", "Describe the plan of a query and the cost of observing it.",
                argument: .query
            ) { session, text in
                guard !text.isEmpty else {
                    throw CommandError(
                        "expected a query, such as Dog where age > 3, or an expression, such as "
                            + "store:objects \"Dog\":sorted \"age\"")
                }
                let values = try session.prepareQuery(text)()
                switch values.first.flatMap(session.context.storeModule.inspect) {
                case .results(let results): session.write(try results.explain() + "\n")
                case .list(let list): session.write(try Results(list).explain() + "\n")
                case .set(let set): session.write(try Results(set).explain() + "\n")
                case .map(let map): session.write(try Results(map).explain() + "\n")
                default:
                    throw CommandError("expected a query, got \(Session.described(values.first))")
                }
            },
            MetaCommand("stats", "", "Show statistics of the store and the session.") {
                session, _ in
                try session.writeStatistics()
            },
            MetaCommand(
                "replication", "",
                "Show the replication of the store and its progress."
            ) { session, _ in
                let store = try session.requireStore().store
                guard let report = try ReplicationReport.read(store) else {
                    return session.write("the store is not replicated; see .help publish\n")
                }
                session.writeTable(report.rows.map { [$0.name, $0.value] }, header: false)
            },
            MetaCommand("pins", "", "List the version pins and the space that each keeps in use.") {
                session, _ in
                let pins = try session.requireStore().store.pins()
                guard !pins.isEmpty else { return session.write("no version pins\n") }
                let rows = pins.map { pin in
                    [
                        "\(pin.version)", pin.summary, pin.since?.description ?? "-",
                        ValueText.count(pin.bytes >> 10, "KiB", "KiB"),
                    ]
                }
                session.writeTable(
                    [["version", "held by", "since", "keeps"]] + rows, numeric: [0, 3])
            },
            MetaCommand(
                "versions", "", "Show the version of the store and the extent of its history."
            ) {
                session, _ in
                let store = try session.requireStore().store
                let kept = store.configuration.history
                session.writeTable(
                    [
                        ["version", "\(store.version)"],
                        ["schema version", "\(store.schema.version)"],
                        [
                            "history",
                            kept == 0 ? "none" : "the last \(ValueText.count(kept, "version"))",
                        ],
                    ], header: false)
            },
        ]
    }
}

extension Session {
    fileprivate func writeSchema(_ words: [String]) throws {
        let store = try requireStore().store
        let schema = store.schema
        var format: SchemaFormat?
        var classes = schema.classes
        var name: String?
        var isTree = false
        for word in words {
            guard word.hasPrefix("-") else {
                classes = [try schema.require(word)]
                name = word
                continue
            }
            if word == "--tree" {
                isTree = true
                continue
            }
            let formats: [SchemaFormat] = [.lua, .mermaid, .dot]
            guard let found = formats.first(where: { "--\($0.rawValue)" == word }) else {
                throw CommandError("expected --tree, --lua, --mermaid or --dot, got '\(word)'")
            }
            format = found
        }
        if classes.isEmpty { return write(MetaCommand.noClasses) }
        switch format {
        case .lua?: for found in classes { writeSchema(found) }
        case let format?:
            let document =
                try name.map { try SchemaDocument(schema, className: $0) } ?? SchemaDocument(schema)
            write(document.text(as: format))
        case nil where name == nil && !isTree && classes.count <= SchemaDiagram.mostClasses:
            let view = store.view
            let diagram = try SchemaDiagram(schema: schema, count: view.count).diagram
            if screen.isPicture { screen.draw(diagram.svg) }
            let chart = style.chart(columns: max(20, window.columns - 1), rows: window.rows)
            for line in diagram.lines(chart) { write(line + "\n") }
        case nil:
            let view = store.view
            let tree = SchemaTree(schema: schema, style: style, count: view.count)
            // Embedded classes appear inside the classes that use them.
            for found in classes where !found.isEmbedded || name != nil {
                write(try tree.lines(of: found).map { $0 + "\n" }.joined())
            }
        }
    }

    /// Writes a class in the form that `define` takes.
    func writeSchema(_ found: ClassSchema) {
        let names = found.properties.map { property in
            ValueText.isName(property.name) ? property.name : "[\"\(property.name)\"]"
        }
        let width = names.map { Piece($0).width }.max() ?? 0
        write(style.paint(found.name, .type) + " = {\n")
        if found.isEmbedded { write("  \(style.paint("embedded", .key)) = true,\n") }
        for (name, property) in zip(names, found.properties) {
            let padding = String(repeating: " ", count: width - Piece(name).width)
            let type = style.paint("\"\(PropertySyntax.text(of: property))\"", .string)
            var more = property.defaultValue.map { ", default = \($0.summary)" } ?? ""
            if property.storedName != property.name {
                more += ", map_to = \(style.paint("\"\(property.storedName)\"", .string))"
            }
            more += LuaSchemaText.rules(of: property)
            let text = more.isEmpty ? type : "{ type = \(type)\(more) }"
            write("  \(style.paint(name, .key))\(padding) = \(text),\n")
        }
        write("}\n")
    }

    /// Returns the type of a value for an error message: `a number`, `nil`.
    fileprivate static func described(_ value: LuaValue?) -> String {
        guard let value, !value.isNil else { return "nil" }
        return "a \(value.typeName)"
    }

    private static func size(_ bytes: Int) -> String {
        if bytes < 10 << 10 { return "\(ValueText.count(bytes)) bytes" }
        if bytes < 10 << 20 { return "\(ValueText.count(bytes >> 10)) KiB" }
        return "\(ValueText.count(bytes >> 20)) MiB"
    }

    fileprivate func writeStatistics() throws {
        let handle = try requireStore()
        let store = handle.store
        let memory = context.state.memory
        let found = try store.statistics()
        let history = found.historyVersions.map {
            "versions \($0.lowerBound) to \($0.upperBound), \(Self.size(found.historyBytes))"
        }
        writeTable(
            [
                ["store", handle.name],
                ["version", "\(store.version)"],
                ["schema version", "\(found.schemaVersion)"],
                ["classes", ValueText.count(found.classes.count)],
                ["objects", ValueText.count(found.objects)],
                [
                    "file",
                    "\(Self.size(found.fileBytes)), \(Self.size(found.usedBytes)) in use, "
                        + "\(ValueText.count(found.freePages, "free page"))",
                ],
                ["history", history ?? "none"],
                ["version pins", ValueText.count(found.pins.count) + "; see .pins"],
                ["observers", ValueText.count(context.storeModule.activeTokens.count)],
                [
                    "Lua memory",
                    "\(ValueText.count(memory.used >> 10)) KiB, at most \(ValueText.count(memory.peak >> 10))",
                ],
            ], header: false)
    }
}
