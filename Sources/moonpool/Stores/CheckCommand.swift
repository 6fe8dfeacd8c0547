import ArgumentParser
import EventLoops
import ObjectStore

/// `moonpool check STORE`: looks at every part of a store.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Look at every part of a store and tell what is damaged.",
        discussion: """
            Reads every object, value, link, list, index entry and full-text posting of the newest version. Others may use \
            the store meanwhile. The exit code is 0 for a sound store and 1 for a damaged one, or one that cannot be opened.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    func run() throws {
        CommandInterruption.begin()
        try CommandFailure.shown {
            let opened = try CommandStore.open(store, isReadOnly: true)
            defer { opened.close() }
            let faults = try opened.verify()
            guard faults.isEmpty else {
                for fault in faults { ProcessServices.writeOutput("\(fault)\n") }
                throw StoreError(
                    .fileCorrupt,
                    "'\(store)' is damaged; export what can be read, or go back to a backup")
            }
            let classes = opened.schema.classes
            let objects = try classes.reduce(0) { try $0 + opened.objects($1.name).count() }
            ProcessServices.writeOutput(
                "\(store) is sound: \(classes.count) class\(classes.count == 1 ? "" : "es"), "
                    + "\(objects) object\(objects == 1 ? "" : "s")\n")
        }
    }
}
