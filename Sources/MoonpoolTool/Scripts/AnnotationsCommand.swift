import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore
import Reference
import SystemCalls

/// The command `moonpool luals [STORE]`.
struct AnnotationsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "luals",
        abstract: "Write LuaLS annotations for completion and checks in editors.",
        discussion: """
            Writes the API to moonpool.lua and, if a store is given, its classes to NAME-classes.lua. Add the folder to the \
            workspace.library setting of the language server. Without --output, the annotations go to standard output.
            """)

    @Argument(
        help: "A store whose classes are included.",
        completion: .file(extensions: ["moonpool"]))
    var store: String?

    @Option(
        help: "The folder for the files. It is created if it does not exist.",
        completion: .directory)
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
                throw StoreError(
                    .invalidArgument, "cannot create the folder '\(output)': \(message)")
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

    /// Returns the file name of a store, without folder and extension.
    private static func name(of store: String) -> String {
        let file = store.split(separator: "/").last.map(String.init) ?? store
        return file.hasSuffix(".moonpool") ? String(file.dropLast(".moonpool".count)) : file
    }
}
