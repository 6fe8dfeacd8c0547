import Foundation
import Testing

/// The server of `moonpool studio` refuses everything but its own page.
@Suite struct StudioSafetyTests {
    private let folder = try! TemporaryFolder()

    private func status(_ response: String) -> String { String(response.dropFirst(9).prefix(3)) }

    private func body(_ response: String) -> Substring {
        response.firstRange(of: "\r\n\r\n").map { response[$0.upperBound...] } ?? ""
    }

    @Test func `the host, the origin and the session are checked in this order`() throws {
        let studio = try StudioProgram([])
        let (fields, _) = try studio.session()
        let own = "Origin: http://127.0.0.1:\(studio.port)\r\n"
        let foreign = "Origin: http://evil.example\r\n"
        let upgrade = "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n"
        func answer(_ line: String, host: String? = nil, _ fields: String = "") throws -> String {
            status(try studio.request(line, host: host, fields))
        }
        for host in ["evil.example:\(studio.port)", "127.0.0.1", "127.0.0.1:1", "localhost", ""] {
            #expect(try answer("GET /", host: host, fields) == "421", "\(host)")
            #expect(try answer("POST /upload", host: host, fields + foreign) == "421", "\(host)")
        }
        // After DNS rebinding, Host and Origin are equal.
        let rebound = "Origin: http://evil.example:\(studio.port)\r\n"
        #expect(
            try answer(
                "GET /socket", host: "evil.example:\(studio.port)", fields + rebound + upgrade)
                == "421")
        for origin in [
            foreign, rebound, "Origin: null\r\n", "Origin: https://127.0.0.1:\(studio.port)\r\n",
            "",
        ] {
            #expect(try answer("GET /socket", fields + origin + upgrade) == "403", "\(origin)")
            #expect(try answer("POST /upload", fields + origin) == "403", "\(origin)")
            #expect(try answer("POST /upload", origin) == "403", "\(origin)")
        }
        #expect(try answer("GET /socket", own + upgrade) == "401")
        #expect(try answer("POST /", own) == "401")
        #expect(try answer("POST /", fields + own) == "405")
        #expect(try answer("GET /", fields) == "200")
        #expect(try answer("GET /studio.js", host: "localhost:\(studio.port)", fields) == "200")
        for path in [
            "/../../etc/passwd", "//etc/passwd", "/%2e%2e/etc/passwd", "/studio.lua", "/download/x",
            "http://127.0.0.1/",
        ] {
            #expect(try answer("GET \(path)", fields) == "404", "\(path)")
        }
    }

    @Test func `without a session, all answers are the same, and slow after 20 attempts`() throws {
        try Tool.lua(
            "moonpool.open { path = 'secret.moonpool', schema = {} }:close()", in: folder.path
        ).expectSuccess()
        let studio = try StudioProgram(["secret.moonpool"], in: folder.path)
        var answers: Set<Substring> = []
        for line in [
            "GET /", "GET /?token=\(String(repeating: "x", count: 43))", "GET /?token=",
            "GET /studio.js", "GET /nothing",
            "GET /download/\(String(repeating: "x", count: 43))", "GET /?\(studio.token)",
        ] {
            let response = try studio.request(
                line, "Cookie: moonpool-\(studio.port)=\(String(repeating: "A", count: 43))\r\n")
            #expect(status(response) == "401", "\(line)")
            answers.insert(body(response))
        }
        #expect(answers.count == 1 && !answers.contains { $0.contains("secret") })
        for _ in 0..<14 { _ = try studio.request("GET /") }
        let start = ContinuousClock.now
        #expect(status(try studio.request("GET /")) == "401")
        #expect(ContinuousClock.now - start >= .milliseconds(950))
        #expect(status(try studio.request("GET /?token=\(studio.token)")) == "200")
        let command = try contents(of: "/proc/\(try Self.pid(studio))/cmdline")
        #expect(command.contains("secret.moonpool") && !command.contains(studio.token))
        try studio.end().expectSuccess()
        #expect(
            TemporaryFolder.names(in: folder.path).filter { $0.hasPrefix("moonpool-studio") } == [])
    }

    @Test func `a studio removes the folder of one that was killed, and no other`() throws {
        func folders() -> Set<String> {
            Set(TemporaryFolder.names(in: folder.path).filter { $0.hasPrefix("moonpool-studio-") })
        }
        let killed = try StudioProgram([], in: folder.path)
        let (fields, key) = try killed.session()
        let upload = try killed.request(
            "POST /upload",
            fields + "Origin: http://127.0.0.1:\(killed.port)\r\nX-Moonpool-Key: \(key)\r\n"
                + "Content-Length: 0\r\n")
        #expect(upload.contains(#"{"upload":""#))
        _ = try killed.end(SIGKILL)
        let left = folders()
        #expect(left.count == 1)
        let first = try StudioProgram([], in: folder.path)
        let second = try StudioProgram([], in: folder.path)
        #expect(folders().count == 2 && folders().isDisjoint(with: left))
        #expect(try first.end().exitCode == 0 && second.end().exitCode == 0)
        #expect(folders() == [])
    }

    private static func pid(_ studio: StudioProgram) throws -> Int {
        let socket = try studio.welcome()
        let (_, key) = try studio.session()
        let hello = try socket.request(["do": "hello", "key": key, "protocol": 1])
        return try #require((hello["ok"] as? [String: Any])?["pid"] as? Int)
    }

    @Test func `every response forbids other scripts, embedding and caching`() throws {
        let studio = try StudioProgram([])
        let (fields, _) = try studio.session()
        for (line, host, fields) in [
            ("GET /", nil, fields), ("GET /", nil, ""), ("GET /", "evil.example", ""),
            ("POST /", nil, fields), ("GET /studio.css", nil, fields),
            ("GET /nothing", nil, fields), ("GET /?token=\(studio.token)", nil, ""),
        ] as [(String, String?, String)] {
            let response = try studio.request(line, host: host, fields)
            for field in [
                "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                    + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n",
                "X-Content-Type-Options: nosniff\r\n", "Referrer-Policy: no-referrer\r\n",
                "Cross-Origin-Opener-Policy: same-origin\r\n",
                "Cross-Origin-Resource-Policy: same-origin\r\n", "Cache-Control: no-store\r\n",
            ] {
                #expect(response.contains(field), "\(line): \(field)")
            }
            #expect(!response.contains("Access-Control"))
        }
        let page = try studio.request("GET /?token=\(studio.token)")
        #expect(page.contains("; HttpOnly; SameSite=Strict; Path=/\r\n"))
    }

    @Test func `programs of other users can neither block nor replace a session`() throws {
        let studio = try StudioProgram([])
        let (fields, _) = try studio.session()
        let page = try studio.welcome()
        let idle = try (0..<200).map { _ in try RawConnection(port: studio.port) }
        for connection in idle { connection.send("GET / HTTP/1.1\r\n") }
        #expect(status(try studio.request("GET /studio.js", fields)) == "200")
        #expect(try page.request(["do": "schema"])["ok"] != nil)
        // The oldest connections have ended.
        #expect(try idle[0].readToEnd() == [])
        // A cookie of another port for a longer path precedes the session.
        let name = "moonpool-\(studio.port)"
        let both = fields.replacing("Cookie: ", with: "Cookie: \(name)=x; ")
        #expect(status(try studio.request("GET /studio.js", both)) == "200")
    }

    @Test func `the server listens on 127.0.0.1 only`() throws {
        let studio = try StudioProgram([])
        #expect(throws: SystemFailure.self) {
            _ = try RawConnection(port: studio.port, address: "127.0.0.2")
        }
    }

    @Test func `a WebSocket without the key, or with a frame that is too large, is closed`() throws
    {
        let studio = try StudioProgram([])
        let (fields, key) = try studio.session()
        let cookieOnly = try studio.connect(fields)
        #expect(cookieOnly.head.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
        cookieOnly.send(#"{"id":1,"do":"schema"}"#)
        #expect(try cookieOnly.closeCode() == 1008)
        let silent = try studio.connect(fields)
        #expect(try silent.closeCode() == 1008)
        let large = try studio.connect(fields)
        large.announce(1 << 20 + 1)
        #expect(try large.closeCode() == 1009)
        let many = try studio.welcome()
        many.send(String(repeating: "a", count: 700_000), opcode: 1)
        many.send(String(repeating: "a", count: 700_000), opcode: 0x80)
        #expect(try many.closeCode() == 1009)
        let unmasked = try studio.connect(fields)
        unmasked.send("{}", mask: false)
        #expect(try unmasked.closeCode() == 1002)
        let binary = try studio.welcome()
        binary.send("x", opcode: 0x82)
        #expect(try binary.closeCode() == 1003)
        let socket = try studio.welcome()
        let unknown = try socket.request(["do": "rehearse"])
        #expect((unknown["error"] as? [String: Any])?["code"] as? String == "invalid_argument")
        for message in ["[]", "nonsense", "{}", #"{"id":7,"do":"seen"}"#, #"{"seen":99}"#] {
            socket.send(message)
        }
        let hello = try socket.request(["do": "hello", "key": key, "protocol": 1])
        #expect(hello["ok"] != nil)
    }

    @Test func `the browser receives the address in a private file, which is removed`() throws {
        let opener = try folder.write(
            "#!/bin/sh\nstat -c %a \"$1\" >\"$TMPDIR/mode\"; cp \"$1\" \"$TMPDIR/copy\"; echo \"$1\" >\"$TMPDIR/name\"; mv \"$TMPDIR/name\" \"$TMPDIR/done\"\n",
            to: "xdg-open")
        #expect(chmod(opener, 0o755) == 0)
        let process = try Subprocess(
            Tool.path, ["studio"],
            environment: ["PATH": "\(folder.path):/usr/bin:/bin", "TMPDIR": folder.path],
            until: "\n")
        let address = process.output.trimmingCharacters(in: .newlines)
        try eventually { access(folder.path + "/done", R_OK) == 0 }
        #expect(try contents(of: folder.path + "/mode") == "600\n")
        #expect(try contents(of: folder.path + "/copy").contains("url=\(address)\""))
        let file = try contents(of: folder.path + "/done").trimmingCharacters(in: .newlines)
        #expect(access(file, F_OK) == 0)
        let port = try #require(address.firstMatch(of: /:(\d+)\//).flatMap { UInt16($0.1) })
        let connection = try RawConnection(port: port)
        let target = address.drop { $0 != "?" }
        connection.send("GET /\(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
        #expect(String(decoding: try connection.readToEnd(), as: UTF8.self).contains(" 200 OK"))
        try eventually { access(file, F_OK) != 0 }
        process.send(SIGTERM)
        try process.finish(within: 60).expectSuccess()
    }

    private func eventually(_ condition: () -> Bool) throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while !condition(), ContinuousClock.now < deadline { usleep(10_000) }
        try #require(condition())
    }

    @Test func `the page has no way to run text as code`() throws {
        let folder = "\(Tool.root)/Sources/Studio/Page"
        let names = TemporaryFolder.names(in: folder)
        #expect(names.count > 5)
        for name in names where !name.hasSuffix(".lua") {
            let text = try contents(of: "\(folder)/\(name)")
            for pattern in [
                "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                "new Function", "<style", "onclick=\"", "style=\"",
            ] {
                #expect(!text.contains(pattern), "\(name): \(pattern)")
            }
            #expect(!text.contains(/<script(?![^>]* src=)/), "\(name)")
            #expect(!text.contains(/https?:\/\/(?!www\.w3\.org\/2000\/svg)/), "\(name)")
        }
    }
}
