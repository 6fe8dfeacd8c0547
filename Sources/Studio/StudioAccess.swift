import Synchronization
import Transfer

/// The secrets of a server, and the checks of requests.
///
/// All ports of a host share cookies, so a server of another user can receive the session: it loads static files only.
/// Everything that concerns the store also requires the key, which the page keeps to itself.
final class StudioAccess: Sendable {
    /// A secret in the address that opens the page.
    let token = StudioAccess.secret()
    /// A secret that the page sends in its first message.
    let key = StudioAccess.secret()
    private let session = StudioAccess.secret()
    private let cookieName: String
    private let hosts: [String]
    private let failures = Mutex<[ContinuousClock.Instant]>([])

    init(port: Int) {
        cookieName = "moonpool-\(port)"
        hosts = ["127.0.0.1:\(port)", "localhost:\(port)"]
    }

    /// The field that gives the session to the browser.
    var cookie: String { "Set-Cookie: \(cookieName)=\(session); HttpOnly; SameSite=Strict; Path=/" }

    /// Returns a text of 32 random bytes.
    static func secret() -> String {
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        return Base64.encode(bytes).filter { $0 != "=" }.map {
            $0 == "+" ? "-" : $0 == "/" ? "_" : String($0)
        }.joined()
    }

    /// Returns whether the request names this server, and not another one whose name leads to this address.
    func isHost(_ host: String?) -> Bool { host.map(hosts.contains) == true }

    /// Returns whether the request comes from a page of this server.
    func isOrigin(_ origin: String?) -> Bool { hosts.contains { "http://" + $0 == origin } }

    /// Returns whether the browser has received the session.
    func hasSession(_ request: HTTPRequest) -> Bool {
        request.cookies(cookieName).contains { Self.isEqual($0, session) }
    }

    /// Returns whether the query of an address is the token.
    func isToken(_ query: String) -> Bool { Self.isEqual(query, "token=" + token) }

    /// Returns whether a message contains the key, as one of its texts.
    func isKey(in message: [UInt8]) -> Bool {
        message.split(separator: UInt8(ascii: "\"")).contains {
            Self.isEqual(String(decoding: $0, as: UTF8.self), key)
        }
    }

    /// Returns whether a text is the key.
    func isKey(_ text: String) -> Bool { Self.isEqual(text, key) }

    /// Compares two texts in a time that depends on their lengths only.
    private static func isEqual(_ first: String, _ second: String) -> Bool {
        let (first, second) = (Array(first.utf8), Array(second.utf8))
        guard first.count == second.count else { return false }
        return zip(first, second).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// Records a request without access; returns whether there were more than 20 in the last minute.
    func isGuessing() -> Bool {
        failures.withLock { failures in
            let now = ContinuousClock.now
            failures.removeAll { $0 < now - .seconds(60) }
            if failures.count <= 20 { failures.append(now) }
            return failures.count > 20
        }
    }
}
