import EventLoops
import Synchronization
import SystemCalls

/// The studio in a script of another process.
package final class AttachedProgram: Sendable {
    private struct State {
        var hasStarted = false
        var failure: String?
    }

    private let socket: LocalSocket
    private let state = Mutex(State())
    private let started = ThreadLatch()

    /// Starts the studio in the process that listens at a socket, and waits until it runs.
    ///
    /// `receive` gets its messages, and `ended` the reason when the script or the process has ended, on another thread.
    /// Throws the message of an error.
    package init(
        _ options: [String: String], at path: String,
        receive: @escaping @Sendable (_ page: Int64, _ text: [UInt8]) -> Void,
        ended: @escaping @Sendable (_ reason: String) -> Void
    ) throws(AttachFailure) {
        do throws(LoopError) {
            socket = try LocalSocket.connect(to: path)
            _ = try LoopThread(name: "attached") { [self] _ in
                read(receive)
                let hadStarted = state.withLock { $0.hasStarted }
                started.open()
                if hadStarted { ended(state.withLock { $0.failure } ?? "") }
            }
        } catch {
            throw AttachFailure(message: AttachClient.explanation(of: error, path))
        }
        let pairs = options.flatMap { [$0.key, $0.value] }
        socket.write(AttachFrame(.program, pairs.joined(separator: "\0")).bytes)
        while !started.wait(atMost: .seconds(3600)) {}
        guard state.withLock({ $0.hasStarted }) else {
            throw AttachFailure(message: state.withLock { $0.failure } ?? "the process has ended")
        }
    }

    private func read(_ receive: (Int64, [UInt8]) -> Void) {
        var reader = AttachFrameReader()
        while true {
            let bytes = socket.read()
            guard !bytes.isEmpty, let frames = try? reader.take(bytes) else { return }
            for frame in frames {
                switch frame.kind {
                case .prompt:
                    state.withLock { $0.hasStarted = true }
                    started.open()
                case .message:
                    let parts = frame.text.split(separator: " ", maxSplits: 1)
                    guard parts.count == 2, let page = Int64(parts[0]) else { continue }
                    receive(page, Array(parts[1].utf8))
                case .end:
                    state.withLock { $0.failure = frame.text }
                    return
                default: continue
                }
            }
        }
    }

    /// Passes a message of a page to the program; nil is the end of the page.
    package func send(_ message: [UInt8]?, from page: Int64) {
        let text = message.map { " " + String(decoding: $0, as: UTF8.self) } ?? ""
        socket.write(AttachFrame(.message, "\(page)" + text).bytes)
    }

    /// Ends the program; the script continues.
    package func end() { socket.end() }
}

/// A reason why a process cannot be attached to.
package struct AttachFailure: Error {
    /// The text for the user.
    package let message: String
}
