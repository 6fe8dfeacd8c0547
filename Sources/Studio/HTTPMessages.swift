import EventLoops

/// The head of a request of HTTP 1.1.
struct HTTPRequest {
    let method: String
    let path: String
    /// The text after the question mark; empty without one.
    let query: String
    /// The fields by their names in lowercase; the values of a repeated field are joined, as HTTP defines.
    let fields: [String: String]
    /// The bytes that arrived after the head.
    let rest: [UInt8]

    private static let largestHead = 16 << 10

    /// Reads a request; returns nil if the bytes are not a request, or if the peer is too slow.
    init?(from socket: LocalSocket) {
        var bytes: [UInt8] = []
        var head: Range<Int>?
        while head == nil {
            let next = socket.read()
            guard !next.isEmpty, bytes.count < Self.largestHead else { return nil }
            bytes += next
            head = bytes.firstRange(of: Array("\r\n\r\n".utf8))
        }
        guard let head, let text = String(validating: bytes[..<head.lowerBound], as: UTF8.self)
        else { return nil }
        rest = Array(bytes[head.upperBound...])
        var lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)[...]
        let words = lines.removeFirst().split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2] == "HTTP/1.1" else { return nil }
        method = String(words[0])
        let target = words[1].split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = String(target[0])
        query = target.count > 1 ? String(target[1]) : ""
        var fields: [String: String] = [:]
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let name = line[..<colon].lowercased()
            let value = line[line.index(after: colon)...].trimmingPrefix { $0 == " " || $0 == "\t" }
            fields[name] = fields[name].map { "\($0), \(value)" } ?? String(value)
        }
        self.fields = fields
    }

    /// Returns the values of a cookie: a server on another port can set one with the same name for a longer path.
    func cookies(_ name: String) -> [String] {
        (fields["cookie"] ?? "").split(separator: ";").compactMap { pair in
            let parts = pair.trimmingPrefix(" ").split(separator: "=", maxSplits: 1)
            return parts.count == 2 && parts[0] == name ? String(parts[1]) : nil
        }
    }
}

/// A response of HTTP 1.1; the connection ends after it.
struct HTTPResponse {
    private let status: Int
    private let head: String
    private let body: [UInt8]

    /// Whether the request had no session, token or key.
    var isFailedGuess: Bool { status == 401 }

    /// Fields of every response: the page runs only the server's own files, and no other page can embed or read it.
    private static let common = """
        Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
        connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r
        X-Content-Type-Options: nosniff\r
        Referrer-Policy: no-referrer\r
        Cross-Origin-Opener-Policy: same-origin\r
        Cross-Origin-Resource-Policy: same-origin\r
        Cache-Control: no-store\r\n
        """

    private static let reasons = [
        101: "Switching Protocols", 200: "OK", 400: "Bad Request", 401: "Unauthorized",
        403: "Forbidden",
        404: "Not Found", 405: "Method Not Allowed", 413: "Content Too Large",
        421: "Misdirected Request",
    ]

    /// Creates a response with a body in memory.
    init(_ status: Int, _ type: String, _ body: [UInt8], _ fields: [String] = []) {
        self.init(status, fields + ["Content-Type: \(type)"], size: body.count, body)
    }

    /// Creates a response with a short text.
    init(_ status: Int, _ text: String) {
        self.init(status, "text/plain; charset=utf-8", Array((text + "\n").utf8))
    }

    /// Creates the head of a response whose body follows.
    init(_ status: Int, _ fields: [String], size: Int? = nil, _ body: [UInt8] = []) {
        self.status = status
        var lines = ["HTTP/1.1 \(status) \(Self.reasons[status] ?? "")"] + fields
        if let size { lines += ["Content-Length: \(size)", "Connection: close"] }
        head = lines.joined(separator: "\r\n") + "\r\n" + Self.common + "\r\n"
        self.body = body
    }

    var bytes: [UInt8] { Array(head.utf8) + body }
}
