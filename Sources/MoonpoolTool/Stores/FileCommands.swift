import ArgumentParser
import EventLoops
import ObjectStore

/// `moonpool compact STORE`.
struct CompactCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Give the room in a store that nothing uses back to the disk.",
        discussion: """
            No process may have the store open. The new file takes the old one's place when it is whole and on the disk; \
            if anything fails, the old one stays.
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

/// `moonpool backup STORE FILE`.
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Write a compact copy of a store, also while others write to it.",
        discussion: """
            The copy is the newest version, whole. It appears under its name when it is on the disk; a file that has that \
            name is only replaced with --force.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Argument(help: "The copy.", completion: .file())
    var file: String

    @Flag(help: "Replace the file if it exists; no process may have it open.")
    var force = false

    func run() throws {
        CommandInterruption.begin()
        try CommandFailure.shown { try StoreFiles.backup(store, to: file, isReplacing: force) }
        let size = ProcessServices.size(of: file).map { ": \(FileReport.size($0))" } ?? ""
        ProcessServices.writeOutput("\(store) → \(file)\(size)\n")
    }
}

/// What the commands say of files.
enum FileReport {
    /// `12.3 MiB`.
    static func size(_ bytes: Int) -> String {
        guard bytes >= 1 << 20 else { return "\((bytes + 1023) >> 10) KiB" }
        let tenths = (bytes * 10 + 1 << 19) >> 20
        return "\(tenths / 10).\(tenths % 10) MiB"
    }
}
