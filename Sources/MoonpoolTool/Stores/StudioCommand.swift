import ArgumentParser
import EventLoops
import ObjectStore
import REPL
import SystemCalls
import Transfer

/// The command `moonpool studio [TARGET]`: starts the program `moonpool-studio`, which shows a store in the browser.
struct StudioCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "studio",
        abstract: "Open a store in the browser.",
        discussion: """
            Opens a store, or a read-only copy of a Realm file in memory, on a page that follows the changes of all \
            processes. Without a target, opens a new in-memory store. With the process ID or the socket of a process that \
            was started with --attachable, shows its store and its observers, on the thread of its script. Prints the \
            address of the page, which contains a secret: it gives the same access as this command. The server listens on \
            127.0.0.1 only.

              moonpool studio zoo.moonpool --open-to 'Dog where age > 3'
            """)

    @Argument(
        help: "The store, the Realm file, or the process ID or socket of a running process.",
        completion: .file(extensions: ["moonpool", "realm"]))
    var target: String?

    @Option(help: "The port; 0 takes a free one.")
    var port: UInt16 = 0

    @Flag(help: "Open the store read-only.")
    var readOnly = false

    @Flag(help: "Refuse all Lua code from the page.")
    var noConsole = false

    @Flag(help: "Confine the code of the console, as moonpool --sandbox does.")
    var sandbox = false

    @Flag(help: "Print the address without opening a browser.")
    var noBrowser = false

    @Option(
        help: ArgumentHelp(
            "Begin with a view, or with a query: data, schema, observers, history, migrations, 'Dog where age > 3'.",
            valueName: "place"))
    var openTo: String?

    @OptionGroup var realm: RealmOptionGroup

    @Option(help: "For a Realm file: keep the copy in this new store instead of memory.")
    var to: String?

    func validate() throws {
        if sandbox, noConsole {
            throw ValidationError("--sandbox has no effect with --no-console; omit one of them")
        }
        if target == nil, to != nil || realm.key != nil || realm.rescue || realm.dotNetGUIDs {
            throw ValidationError("the options of Realm files require a file; name it")
        }
    }

    func run() throws {
        ProcessServices.exit(
            try CommandFailure.shown {
                let arguments = try self.arguments()
                let name = "moonpool-studio"
                let folder = ChildProcesses.thisProgram.map { path in
                    String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
                }
                let program = "\(folder ?? ".")/\(name)"
                let reason = ChildProcesses.replaceThisProcess(with: program, arguments)
                throw StoreError(
                    .invalidArgument,
                    "cannot start '\(program)': \(reason); build it with: "
                        + "swift build -c release --product \(name)")
            })
    }

    /// Returns the path of the socket that a target names; nil for a file.
    private static func socket(of target: String) throws -> String? {
        if let process = Int32(target), ProcessServices.size(of: target) == nil {
            do throws(LoopError) {
                return try AttachServer.path(of: process)
            } catch {
                throw StoreError(.invalidArgument, "\(error)")
            }
        }
        return ProcessServices.isSocket(target) ? target : nil
    }

    /// Checks the target, and returns the arguments of `moonpool-studio`.
    private func arguments() throws -> [String] {
        var words = ["--port=\(port)"]
        if noConsole { words.append("--no_console") }
        if noBrowser { words.append("--no-browser") }
        if sandbox { words.append("--sandbox") }
        if let openTo { words.append("--open_to=\(openTo)") }
        if let target, let socket = try Self.socket(of: target) {
            guard to == nil, !sandbox else {
                throw StoreError(
                    .invalidArgument, "--to and --sandbox have no effect on a running process")
            }
            if readOnly { words.append("--read_only") }
            return words + ["--socket=\(socket)"]
        }
        let isRealm = try target.map(realm.isRealm) ?? false
        if readOnly || isRealm { words.append("--read_only") }
        if isRealm {
            words.append("--realm")
            if let key = realm.key { words.append("--key=\(key)") }
            if realm.rescue { words.append("--rescue") }
            if realm.dotNetGUIDs { words.append("--dotnet_guids") }
        }
        if let to {
            guard isRealm else {
                throw StoreError(.invalidArgument, "--to has an effect on Realm files only")
            }
            guard ProcessServices.size(of: to) ?? 0 == 0 else {
                throw StoreError(.invalidArgument, "'\(to)' already exists; name a new file")
            }
            words.append("--to=\(to)")
        }
        guard let target else { return words }
        let isNew = ProcessServices.size(of: target) == nil
        if !isNew || !Descriptor.isTerminal(0) || readOnly {
            if !isRealm { try StoreFiles.requireStore(target) }
        } else if !NewStore.isWanted(at: target) {
            ProcessServices.exit(1)
        }
        return words + ["--target=\(target)"]
    }
}
