import ArgumentParser
import EventLoops
import ObjectStore
import Reference
import SystemCalls

/// The command `moonpool schema STORE`.
struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the schema of a store.",
        discussion: """
            Formats: lua prints a script that returns the schema, for moonpool.open and `moonpool migrate plan`; mermaid \
            prints an entity-relationship diagram; dot is for Graphviz, json for other programs, and luals prints \
            annotations for editors.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Option(name: .customLong("class"), help: "Print only this class.")
    var className: String?

    @Option(help: "The format.")
    var format: SchemaFormat = .lua

    @OptionGroup var realm: RealmOptionGroup

    @OptionGroup var version: SchemaVersionOption

    func run() throws {
        try CommandFailure.shown {
            let opened = try RealmCopy.openSchema(store, realm, version)
            defer { opened.close() }
            let document =
                try className.map { try SchemaDocument(opened.schema, className: $0) }
                ?? SchemaDocument(opened.schema)
            ProcessServices.writeOutput(document.text(as: format))
        }
    }
}

extension SchemaFormat: ExpressibleByArgument {}
