import ArgumentParser
import EventLoops
import REPL

/// `moonpool attach PID|SOCKET`: a prompt inside of a running moonpool.
struct AttachCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attach",
        abstract: "Look into a running moonpool, and stop a handler that does not end.",
        discussion: """
            The running one has to be started with --attachable, which makes a socket for its owner alone: \
            $XDG_RUNTIME_DIR/moonpool/PID.sock, or the path in --attachable=SOCKET. Entries run on its own thread, between \
            its callbacks; .observers shows its observers. While it is busy, Ctrl-C stops what it runs: a handler is \
            reported and the script goes on, its main part ends the script. .quit or Ctrl-D leaves, and changes nothing.
            """)

    @Argument(help: "The number of its process, or the path of its socket.")
    var target: String

    @Option(
        name: .customShort("e"), help: "Run this entry and leave; the exit code is 1 if it fails.")
    var entry: String?

    @Option(help: "Which one, where moonpool run runs several: a name or a number.")
    var script: String?

    func run() throws {
        var path = target
        if let process = Int32(target) {
            do throws(LoopError) {
                path = try AttachServer.path(of: process)
            } catch {
                ProcessServices.writeError("moonpool: \(error)\n")
                ProcessServices.exit(1)
            }
        }
        ProcessServices.exit(AttachClient.run(socket: path, entry: entry, script: script))
    }
}
