import Foundation
import Testing

/// A running `moonpool studio`.
final class StudioProgram {
    let process: Subprocess
    let port: UInt16
    let token: String
    /// The address that the program has printed.
    let address: String

    init(_ arguments: [String], in folder: String = "/") throws {
        process = try Subprocess(
            Tool.path, ["studio", "--no-browser"] + arguments, in: folder,
            // The folder for temporary files is that of the test.
            environment: folder == "/" ? [:] : ["TMPDIR": folder])
        try process.wait(within: 60) { [process] in process.output.contains("\n") }
        let line = process.output.trimmingCharacters(in: .newlines)
        let parts = try #require(
            line.wholeMatch(of: /http:\/\/127\.0\.0\.1:(\d+)\/\?token=([A-Za-z0-9_-]{43})/),
            "\(line)\(process.error)")
        (address, token) = (line, String(parts.2))
        port = try #require(UInt16(parts.1))
    }

    /// Returns a free port that the system gives to no other connection.
    static func freePort() -> UInt16 {
        while true {
            let port = UInt16.random(in: 20000..<32000)
            if (try? RawConnection(port: port)) == nil { return port }
        }
    }

    private var hasEnded = false

    /// A program that is killed leaves its private folder.
    deinit { if !hasEnded { _ = try? end() } }

    /// The fields of a browser that has opened the address, and the key of its page.
    func session() throws -> (fields: String, key: String) {
        let page = try request("GET /?token=\(token)")
        let cookie = try #require(page.firstMatch(of: /Set-Cookie: (moonpool-\d+=[^;]+);/)).1
        let key = try #require(page.firstMatch(of: /url=\/#([A-Za-z0-9_-]{43})"/)).1
        return ("Cookie: \(cookie)\r\n", String(key))
    }

    /// Sends a request and returns the whole response.
    func request(_ line: String, host: String? = nil, _ fields: String = "") throws -> String {
        let connection = try RawConnection(port: port)
        connection.send("\(line) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1:\(port)")\r\n\(fields)\r\n")
        return String(decoding: try connection.readToEnd(), as: UTF8.self)
    }

    /// Opens a WebSocket as the page does.
    func connect(_ fields: String, origin: String? = nil) throws -> SocketClient {
        try SocketClient(
            port: port, fields: fields + "Origin: \(origin ?? "http://127.0.0.1:\(port)")\r\n")
    }

    /// Opens a WebSocket, and sends the key.
    func welcome() throws -> SocketClient {
        let (fields, key) = try session()
        let socket = try connect(fields)
        _ = try socket.request(["do": "hello", "key": key, "protocol": 1])
        return socket
    }

    /// Starts a program, and opens a WebSocket that keeps it.
    static func page(_ arguments: [String], in folder: String) throws -> SocketClient {
        let studio = try StudioProgram(arguments, in: folder)
        let page = try studio.welcome()
        page.program = studio
        return page
    }

    /// Ends the program with a signal, and returns its outcome.
    func end(_ signal: Int32 = SIGTERM) throws -> Tool.Outcome {
        hasEnded = true
        process.send(signal)
        return try process.finish(within: 60)
    }
}

/// A TCP connection to this machine.
final class RawConnection {
    private let descriptor: Int32

    /// `patience` is the time, in seconds, that a read waits for the peer.
    init(port: UInt16, address: String = "127.0.0.1", patience: Int = 60) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var target = sockaddr_in()
        target.sin_family = sa_family_t(AF_INET)
        target.sin_port = port.bigEndian
        inet_pton(AF_INET, address, &target.sin_addr)
        let status = withUnsafePointer(to: &target) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        // The deinitializer also runs after this error, and closes the descriptor.
        guard status == 0 else { throw SystemFailure("connect") }
        var limit = timeval(tv_sec: patience, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    func send(_ text: String) { send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Returns the next bytes; empty at the end of the stream.
    func read() throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = Glibc.recv(descriptor, &buffer, buffer.count, 0)
        if count < 0, errno == EAGAIN { throw SystemFailure("no answer") }
        return Array(buffer[..<max(count, 0)])
    }

    /// Returns the body of a response that has a `Content-Length`.
    func readBody() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let next = try read()
            bytes += next
            guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound else {
                continue
            }
            let head = String(decoding: bytes[..<end], as: UTF8.self).lowercased()
            let count = head.firstMatch(of: /content-length: *(\d+)/).flatMap { Int($0.1) } ?? 0
            if bytes.count >= end + count || next.isEmpty { return Array(bytes[end...]) }
        }
    }

    func readToEnd() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let next = try read()
            if next.isEmpty { return bytes }
            bytes += next
        }
    }
}

/// The client side of a WebSocket.
final class SocketClient {
    private let connection: RawConnection
    private var unread: [UInt8] = []
    private var lastID = 0
    /// The program, if the socket keeps it.
    var program: StudioProgram?
    /// The head of the response.
    private(set) var head = ""
    /// The events of subscriptions that no request was waiting for.
    private var events: [[String: Any]] = []

    init(port: UInt16, fields: String) throws {
        connection = try RawConnection(port: port)
        connection.send(
            "GET /socket HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\(fields)\r\n"
        )
        while unread.firstRange(of: Array("\r\n\r\n".utf8)) == nil {
            let next = try connection.read()
            if next.isEmpty { break }
            unread += next
        }
        let end = unread.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? unread.count
        head = String(decoding: unread[..<end], as: UTF8.self)
        unread.removeFirst(end)
    }

    func send(_ text: String, opcode: UInt8 = 0x81, mask: Bool = true) {
        let payload = Array(text.utf8)
        var frame = [opcode]
        let bit: UInt8 = mask ? 0x80 : 0
        if payload.count < 126 {
            frame.append(UInt8(payload.count) | bit)
        } else {
            frame.append(127 | bit)
            frame += (0..<8).reversed().map {
                UInt8(truncatingIfNeeded: payload.count >> ($0 * 8))
            }
        }
        if mask { frame += [1, 2, 3, 4] }
        connection.send(
            frame + payload.enumerated().map { mask ? $1 ^ UInt8(1 + $0 & 3) : $1 })
    }

    /// Sends only the head of a frame with this length.
    func announce(_ count: Int) {
        connection.send(
            [0x81, 0xFF] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) })
    }

    /// Returns the next frame; nil at the end of the stream.
    func frame() throws -> (opcode: UInt8, payload: [UInt8])? {
        func take(_ count: Int) throws -> [UInt8]? {
            while unread.count < count {
                let next = try connection.read()
                if next.isEmpty { return nil }
                unread += next
            }
            defer { unread.removeFirst(count) }
            return Array(unread[..<count])
        }
        guard let start = try take(2) else { return nil }
        var count = Int(start[1])
        if count > 125 {
            guard let digits = try take(count == 126 ? 2 : 8) else { return nil }
            count = digits.reduce(0) { $0 << 8 | Int($1) }
        }
        guard let payload = try take(count) else { return nil }
        return (start[0] & 15, payload)
    }

    /// Waits for the end of the connection and returns its code; nil if the server sent none.
    func closeCode() throws -> Int? {
        while let (opcode, payload) = try frame() {
            if opcode == 8 { return Int(payload[0]) << 8 | Int(payload[1]) }
        }
        return nil
    }

    /// Sends a request and returns the reply.
    func request(_ fields: [String: Any]) throws -> [String: Any] {
        lastID += 1
        var message = fields
        message["id"] = lastID
        send(Self.text(message))
        while let next = try self.next() {
            if next["id"] as? Int == lastID { return next }
            events.append(next)
        }
        throw SystemFailure("the connection has ended")
    }

    /// Sends a request and returns the result in its reply.
    func ok(_ fields: [String: Any]) throws -> [String: Any] { try Self.ok(request(fields)) }

    /// Returns the result in a reply.
    static func ok(_ reply: [String: Any]) throws -> [String: Any] {
        try #require(reply["ok"] as? [String: Any], "\(reply)")
    }

    /// The ID of the last request.
    var last: Int { lastID }

    /// Returns the next event of any subscription.
    func event() throws -> [String: Any] {
        if !events.isEmpty { return events.removeFirst() }
        return try #require(try next())
    }

    /// Whether an event has arrived while a request waited for its reply.
    var hasEvent: Bool { !events.isEmpty }

    func seen(_ event: [String: Any]) {
        send(Self.text(["seen": event["on"] ?? 0, "version": event["version"] ?? 0]))
    }

    private func next() throws -> [String: Any]? {
        guard let (opcode, payload) = try frame(), opcode == 1 else { return nil }
        return try JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any]
    }

    static func text(_ object: Any) -> String {
        // Because: the tests pass values that JSON can represent.
        let data = try! JSONSerialization.data(withJSONObject: object, options: .sortedKeys)
        return String(decoding: data, as: UTF8.self)
    }
}
