import Glibc
import Synchronization

/// Forwards connections to a port on loopback, until the network is cut.
///
/// During a cut, both sides keep their connections and receive nothing, and new connections are not answered.
package final class Relay: Sendable {
    /// The port that the relay listens on.
    package let port: UInt16
    private let target: UInt16
    private let listener: Int32
    private let state = Mutex((isCut: false, hasEnded: false, hasSeenCut: false))

    /// Starts the thread, which ends with ``end()``.
    package init(to target: UInt16) {
        self.target = target
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = NatsServer.loopback(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        port = withUnsafeMutablePointer(to: &address) { [listener] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length)
                listen(listener, 16)
                getsockname(listener, $0, &length)
            }
            return UInt16(bigEndian: pointer.pointee.sin_port)
        }
        var thread = pthread_t()
        let retained = Unmanaged.passRetained(self)
        pthread_create(
            &thread, nil,
            { argument in
                Unmanaged<Relay>.fromOpaque(argument!).takeRetainedValue().run()
                return nil
            }, retained.toOpaque())
        pthread_detach(thread)
    }

    /// Cuts or restores the network; when it returns, nothing passes a cut.
    package func setCut(_ isCut: Bool) {
        state.withLock { $0.isCut = isCut }
        while state.withLock({ $0.hasSeenCut != isCut && !$0.hasEnded }) { sched_yield() }
    }

    /// Closes all connections.
    package func end() { state.withLock { $0.hasEnded = true } }

    private func run() {
        var peers: [Int32: Int32] = [:]
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let (isCut, hasEnded) = state.withLock {
                $0.hasSeenCut = $0.isCut
                return ($0.isCut, $0.hasEnded)
            }
            guard !hasEnded else { break }
            var waiting =
                isCut
                ? []
                : ([listener] + peers.keys).map {
                    pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
                }
            _ = poll(&waiting, nfds_t(waiting.count), 10)
            for ready in waiting where ready.revents != 0 {
                if ready.fd == listener {
                    connect(accept(listener, nil, nil), &peers)
                } else if let peer = peers[ready.fd] {
                    let count = read(ready.fd, &buffer, buffer.count)
                    if count <= 0
                        || send(peer, buffer, count, Int32(MSG_NOSIGNAL)) != count
                    {
                        for end in [ready.fd, peer] {
                            peers[end] = nil
                            close(end)
                        }
                    }
                }
            }
        }
        for end in [listener] + peers.keys { close(end) }
    }

    private func connect(_ client: Int32, _ peers: inout [Int32: Int32]) {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = NatsServer.loopback(target)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(server, $0, length)
            }
        }
        guard client >= 0, result == 0 else {
            close(client)
            close(server)
            return
        }
        peers[client] = server
        peers[server] = client
    }
}
