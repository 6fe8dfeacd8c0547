import ArgumentParser
import EventLoops
import REPL
import SystemCalls

/// The command `moonpool attach PID|SOCKET`: a prompt inside a running process.
struct AttachCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attach",
        abstract: "Open a prompt inside a running moonpool process.",
        discussion: """
            Start the process with --attachable. It then listens on a socket that only its user can open: \
            $XDG_RUNTIME_DIR/moonpool/PID.sock, or the path in --attachable=SOCKET. Entries run on the thread of the \
            script, between its callbacks; .observers shows its observers. While the script is busy, Ctrl-C interrupts it: \
            an interrupted handler is reported and the script continues; an interrupted main chunk ends the script. \
            .quit or Ctrl-D detaches and leaves the script running.
            """)

    @Argument(help: "The process id, or the path of the socket.")
    var target: String

    @Option(
        name: .customShort("e"), help: "Run one entry and exit, with code 1 if it fails.")
    var entry: String?

    @Option(help: "The script to attach to if the process runs several: a name or a number.")
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
