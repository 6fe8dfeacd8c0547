import ArgumentParser
import EventLoops
import ObjectStore
import SystemCalls

/// The command `moonpool compact STORE`.
struct CompactCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Reclaim unused space in a store file.",
        discussion: """
            No process may have the store open. A new file replaces the old one after it has been written completely; if \
            anything fails, the old file remains.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    func run() throws {
        CommandInterruption.begin()
        let size = try CommandFailure.shown { try StoreFiles.compact(store) }
        ProcessServices.writeOutput(
            "\(store): \(FileReport.size(size.before)) → \(FileReport.size(size.after))\n")
    }
}

/// The command `moonpool backup STORE FILE`.
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Write a compact copy of a store without blocking its writers.",
        discussion: """
            The copy contains the latest version. The file is created only if the backup succeeds; an existing file is \
            replaced only with --force. A store with a damaged page or value is not copied: the error names it.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Argument(help: "The copy.", completion: .file())
    var file: String

    @Flag(help: "Replace an existing file. No process may have it open.")
    var force = false

    func run() throws {
        CommandInterruption.begin()
        try CommandFailure.shown { try StoreFiles.backup(store, to: file, isReplacing: force) }
        let size = ProcessServices.size(of: file).map { ": \(FileReport.size($0))" } ?? ""
        ProcessServices.writeOutput("\(store) → \(file)\(size)\n")
    }
}

/// Formats file sizes.
enum FileReport {
    /// Returns a size such as `12.3 MiB`.
    static func size(_ bytes: Int) -> String {
        guard bytes >= 1 << 20 else { return "\((bytes + 1023) >> 10) KiB" }
        let tenths = (bytes * 10 + 1 << 19) >> 20
        return "\(tenths / 10).\(tenths % 10) MiB"
    }
}
