import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore
import Reference

/// `moonpool luals [STORE]`.
struct AnnotationsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "luals",
        abstract: "Write annotations for LuaLS, so that editors complete and check scripts.",
        discussion: """
            The API as moonpool.lua, and with a store its classes as NAME-classes.lua. Put the folder into the language \
            server's workspace.library. Without --output, everything goes to standard output.
            """)

    @Argument(
        help: "A store whose classes are described too.",
        completion: .file(extensions: ["moonpool"]))
    var store: String?

    @Option(help: "The folder of the files; made if it is missing.", completion: .directory)
    var output: String?

    func run() throws {
        try CommandFailure.shown {
            var classes: String?
            if let store {
                let opened = try CommandStore.open(store, isReadOnly: true)
                defer { opened.close() }
                classes = SchemaDocument(opened.schema).text(as: .luals)
            }
            guard let output else {
                ProcessServices.writeOutput(LuaLSAnnotations.api)
                if let classes { ProcessServices.writeOutput("\n" + classes) }
                return
            }
            if let message = ProcessServices.makeFolder(output) {
                throw StoreError(.invalidArgument, "cannot make the folder \(output): \(message)")
            }
            try write(LuaLSAnnotations.api, to: "\(output)/moonpool.lua")
            if let store, let classes {
                try write(classes, to: "\(output)/\(Self.name(of: store))-classes.lua")
            }
        }
    }

    private func write(_ text: String, to path: String) throws {
        let file = try FileWriter(path)
        try file.write(Array(text.utf8))
        try file.finish()
        ProcessServices.writeOutput("\(path)\n")
    }

    /// The store's name without folders and ending.
    private static func name(of store: String) -> String {
        let file = store.split(separator: "/").last.map(String.init) ?? store
        return file.hasSuffix(".moonpool") ? String(file.dropLast(".moonpool".count)) : file
    }
}
