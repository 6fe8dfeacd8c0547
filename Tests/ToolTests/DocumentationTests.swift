import Foundation
import Testing

/// `scripts/docs` builds the website of the documentation.
@Suite struct DocumentationTests {
    private static func isInstalled(_ program: String) -> Bool {
        access("/usr/bin/\(program)", X_OK) == 0
    }

    @Test func `the website is built without warnings, and its landing page opens in a browser`()
        throws
    {
        let folder = try TemporaryFolder()
        let site = folder.path + "/site"
        let modules = String(Tool.path.dropLast("moonpool".count)) + "Modules"
        let script = Tool.root + "/scripts/docs"
        let built = try Subprocess(
            "/bin/bash", [script, "--modules", modules, "--output", site], in: Tool.root,
            // The compiler keeps a cache in the home folder.
            environment: [
                "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
                "HOME": folder.path,
            ]
        ).finish()
        defer { _ = try? Subprocess("/bin/rm", ["-rf", site], in: "/").finish() }
        try #require(built.exitCode == 0, "\(built.error)")
        for page in ["moonpool", "moonpool/architecture", "objectstore/observing", "repl"] {
            let path = "\(site)/documentation/\(page)/index.html"
            #expect(access(path, R_OK) == 0, "\(page)")
        }
        guard Self.isInstalled("chromium"), Self.isInstalled("python3") else { return }
        let open = """
            python3 -u -m http.server --bind 127.0.0.1 --directory "$1" 0 >"$1/port" 2>/dev/null &
            server=$!
            for attempt in $(seq 600); do grep -q port "$1/port" && break; sleep 0.05; done
            port=$(sed -nE 's/.* port ([0-9]+) .*/\\1/p' "$1/port")
            HOME="$1" chromium --headless --no-sandbox --disable-gpu --user-data-dir="$1/browser" \
                --virtual-time-budget=20000 --dump-dom "http://127.0.0.1:$port/documentation/moonpool/" 2>/dev/null
            # The test process blocks SIGTERM, and its children inherit that.
            kill -KILL $server
            """
        let page = try Subprocess("/bin/bash", ["-c", open, "open", site], in: "/").finish()
        #expect(page.output.contains("live object database"), "\(page.output.suffix(400))")
        #expect(page.output.contains("Coming from Realm"))
    }
}
