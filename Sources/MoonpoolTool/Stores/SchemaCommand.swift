import ArgumentParser
import EventLoops
import ObjectStore
import Reference

/// `moonpool schema STORE`.
struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the schema of a store.",
        discussion: """
            As Lua it is a script that returns the schema, as moonpool.open and `moonpool migrate plan` take it. mermaid is \
            an entity-relationship diagram, dot is for Graphviz, json for other programs, luals annotations for editors.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Option(name: .customLong("class"), help: "Only this class.")
    var className: String?

    @Option(help: "The form.")
    var format: SchemaFormat = .lua

    @OptionGroup var realm: RealmOptionGroup

    func run() throws {
        try CommandFailure.shown {
            let opened = try RealmCopy.openSchema(store, realm.options)
            defer { opened.close() }
            let document =
                try className.map { try SchemaDocument(opened.schema, className: $0) }
                ?? SchemaDocument(opened.schema)
            ProcessServices.writeOutput(document.text(as: format))
        }
    }
}

extension SchemaFormat: ExpressibleByArgument {}
