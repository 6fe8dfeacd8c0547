import EventLoops
import Synchronization
import SystemCalls
import Transfer

/// A WebSocket connection with a page (RFC 6455), for messages of text.
///
/// Messages of the page are read on the connection's thread. Messages to the page wait in a queue, which another thread
/// writes, so that a slow page never delays the script.
final class WebSocket: Sendable {
    enum CloseCode: UInt16 {
        case normal = 1000
        case protocolError = 1002
        case unsupported = 1003
        case invalidText = 1007
        case refused = 1008
        case tooLarge = 1009
    }

    private enum Opcode: UInt8 {
        case continuation = 0
        case text = 1
        case binary = 2
        case close = 8
        case ping = 9
        case pong = 10
    }

    private static let largestMessage = 1 << 20
    private static let largestQueue = 1 << 20

    private let socket: LocalSocket
    private let writer: LoopThread
    private let queued = Atomic<Int>(0)
    private let unread: Mutex<[UInt8]>

    /// Begins after the response to the upgrade; `unread` are bytes that the page has already sent.
    init(_ socket: LocalSocket, unread: [UInt8]) throws(LoopError) {
        self.socket = socket
        self.unread = Mutex(unread)
        writer = try LoopThread(name: "studio writer", stackSize: 256 << 10) { loop in
            let hold = loop.hold()
            loop.run()
            hold.release()
        }
    }

    deinit {
        let loop = writer.loop
        loop.post { loop.stop() }
    }

    /// Returns the field that accepts a connection with this key.
    static func acceptance(of key: String) -> String {
        Base64.encode(SHA1.digest(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
    }

    // MARK: - To the page

    /// Sends a message; a page that has not read the last megabyte is disconnected.
    func send(_ text: [UInt8]) { write(.text, text) }

    /// Closes the connection, after the messages that wait in the queue.
    func close(_ code: CloseCode) {
        write(.close, [UInt8(code.rawValue >> 8), UInt8(code.rawValue & 255)])
        let isClosed = ThreadLatch()
        writer.loop.post { [socket] in
            socket.end()
            isClosed.open()
        }
        _ = isClosed.wait(atMost: .seconds(5))
    }

    private func write(_ opcode: Opcode, _ payload: [UInt8]) {
        assert(
            opcode.rawValue < Opcode.close.rawValue || payload.count < 126,
            "a control frame has at most 125 bytes")
        guard queued.load(ordering: .relaxed) < Self.largestQueue else { return socket.end() }
        var frame: [UInt8] = [0x80 | opcode.rawValue]
        switch payload.count {
        case ..<126: frame.append(UInt8(payload.count))
        case ..<65536: frame += [126] + Self.bigEndian(payload.count, 2)
        default: frame += [127] + Self.bigEndian(payload.count, 8)
        }
        frame += payload
        let size = frame.count
        queued.add(size, ordering: .relaxed)
        writer.loop.post { [self, frame] in
            socket.write(frame)
            assert(queued.load(ordering: .relaxed) >= size, "a frame leaves the queue once")
            queued.subtract(size, ordering: .relaxed)
        }
    }

    private static func bigEndian(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    // MARK: - From the page

    /// Limits the time until the next message; zero removes the limit.
    func limitReads(to patience: Duration) { socket.limitReads(to: patience) }

    /// Waits for the next message; returns nil when the connection has ended.
    ///
    /// A frame that breaks the protocol, or a message above 1 MiB, closes the connection.
    func receive() -> [UInt8]? {
        var message: [UInt8]?
        while true {
            guard let head = take(2) else { return nil }
            guard let opcode = Opcode(rawValue: head[0] & 15), head[0] & 0x70 == 0,
                head[1] & 0x80 != 0
            else { return fail(.protocolError) }
            let isFinal = head[0] & 0x80 != 0
            var count = Int(head[1] & 127)
            if count > 125 {
                guard let digits = take(count == 126 ? 2 : 8) else { return nil }
                guard digits.count == 2 || digits[0] < 128 else { return fail(.protocolError) }
                count = digits.reduce(0) { $0 << 8 | Int($1) }
            }
            guard count <= Self.largestMessage - (message?.count ?? 0) else {
                return fail(.tooLarge)
            }
            guard let mask = take(4), var payload = take(count) else { return nil }
            for index in payload.indices { payload[index] ^= mask[index & 3] }
            switch opcode {
            case .ping, .pong, .close:
                guard isFinal, count < 126 else { return fail(.protocolError) }
                if opcode == .ping { write(.pong, payload) }
                if opcode == .close { return fail(.normal) }
                continue
            case .binary: return fail(.unsupported)
            case .text:
                guard message == nil else { return fail(.protocolError) }
                message = payload
            case .continuation:
                guard message != nil else { return fail(.protocolError) }
                message! += payload
            }
            guard isFinal, let complete = message else { continue }
            guard String(validating: complete, as: UTF8.self) != nil else {
                return fail(.invalidText)
            }
            return complete
        }
    }

    private func fail(_ code: CloseCode) -> [UInt8]? {
        close(code)
        return nil
    }

    /// Waits for this number of bytes.
    private func take(_ count: Int) -> [UInt8]? {
        unread.withLock { unread in
            while unread.count < count {
                let next = socket.read()
                if next.isEmpty { return nil }
                unread += next
            }
            defer { unread.removeFirst(count) }
            return Array(unread[..<count])
        }
    }
}
