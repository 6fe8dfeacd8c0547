import ArgumentParser
import DataFormats
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
            replaced only with --force. A store with a damaged page or value is not copied: the error names it. --key-file \
            encrypts the copy; moonpool decrypt makes it a store again.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Argument(help: "The copy.", completion: .file())
    var file: String

    @Flag(help: "Replace an existing file. No process may have it open.")
    var force = false

    @OptionGroup var encryption: KeyFileOptionGroup

    func run() throws {
        CommandInterruption.begin()
        try CommandFailure.shown {
            guard let key = try encryption.key else {
                return try StoreFiles.backup(store, to: file, isReplacing: force)
            }
            try KeyFileOptionGroup.requireNew(file, force)
            // The copy that is not encrypted stays on the device of the store.
            try StoreFiles.withWorkFolder(beside: store) { folder in
                let copy = folder + "/copy.moonpool"
                try StoreFiles.backup(store, to: copy)
                try EncryptedFiles.encrypt(copy, to: file, with: key, like: store)
            }
        }
        let size = ProcessServices.size(of: file).map { ": \(FileReport.size($0))" } ?? ""
        ProcessServices.writeOutput("\(store) → \(file)\(size)\n")
    }
}

/// The command `moonpool decrypt FILE OUTPUT`.
struct DecryptCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decrypt",
        abstract: "Decrypt a backup or an export.",
        discussion: """
            Writes what moonpool backup or moonpool export has written with --key-file. A file that was changed, cut off, or \
            put together from others is an error, and nothing is written; with - as the output, content that was not \
            changed can come before the error. An existing file is replaced only with --force, and a store only by \
            moonpool backup --force with the decrypted copy.
            """)

    @Argument(help: "The encrypted file, or - for standard input.", completion: .file())
    var file: String

    @Argument(help: "The decrypted file, or - for standard output.", completion: .file())
    var output: String

    @Flag(help: "Replace an existing file.")
    var force = false

    @OptionGroup var encryption: KeyFileOptionGroup

    func run() throws {
        CommandInterruption.begin()
        try CommandFailure.shown {
            guard let key = try encryption.key else {
                throw StoreError(.invalidArgument, "add --key-file FILE")
            }
            if output != "-" { try KeyFileOptionGroup.requireNew(output, force) }
            try EncryptedFiles.decrypt(file, to: output, with: key)
        }
        if output != "-" { ProcessServices.writeOutput("\(file) → \(output)\n") }
    }
}

/// The option for the key of encrypted files.
struct KeyFileOptionGroup: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file with the key of an encrypted file: 32 bytes or 64 hexadecimal digits.",
            valueName: "file"), completion: .file())
    var keyFile: String?

    /// The key; nil without the option.
    var key: CopyKey? { get throws { try keyFile.map { try CopyKey(file: $0) } } }

    /// Throws `invalid_argument` for an existing file that must not be replaced, and for a store, its lock file or its log.
    static func requireNew(_ file: String, _ isReplacing: Bool) throws {
        try StoreFiles.requireNoStore(file)
        guard isReplacing || ProcessServices.size(of: file) == nil else {
            throw StoreError(
                .invalidArgument,
                "'\(file)' already exists; choose another name, or allow it to be overwritten")
        }
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
