import ArgumentParser
import EventLoops
import ScriptHost

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
        let check: StoreCheck
        do {
            check = try StoreCheck(path: store)
        } catch {
            ProcessServices.writeError("moonpool: \(error)\n")
            ProcessServices.exit(1)
        }
        guard check.faults.isEmpty else {
            for fault in check.faults { ProcessServices.writeOutput(fault + "\n") }
            ProcessServices.writeError(
                "moonpool: '\(store)' is damaged; export what can be read, or go back to a backup\n"
            )
            ProcessServices.exit(1)
        }
        let classes = check.classCount == 1 ? "1 class" : "\(check.classCount) classes"
        let objects = check.objectCount == 1 ? "1 object" : "\(check.objectCount) objects"
        ProcessServices.writeOutput("\(store) is sound: \(classes), \(objects)\n")
    }
}
