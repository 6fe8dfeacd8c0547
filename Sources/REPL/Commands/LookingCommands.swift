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
                "replication", "",
                "Show the replication of the store and its progress."
            ) { session, _ in
                let store = try session.requireStore().store
                guard let report = try ReplicationReport.read(store) else {
                    return session.write("the store is not replicated; see .help publish\n")
                }
                session.writeTable(report.rows.map { [$0.name, $0.value] }, header: false)
            }
        ]
    }
}

extension Session {
    /// Writes a schema as a tree, or in a form that words such as `--lua` name.
    func writeSchema(_ words: [String]) throws {
        let store = try requireStore().store
        let schema = store.schema
        var format: SchemaFormat?
        var classes = schema.classes
        var name: String?
        for word in words {
            guard word.hasPrefix("-") else {
                classes = [try schema.require(word)]
                name = word
                continue
            }
            if word == "--tree" { continue }
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
}
