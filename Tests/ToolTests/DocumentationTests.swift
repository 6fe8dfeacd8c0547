import Foundation
import Testing

/// `scripts/docs` builds the website of the documentation.
@Suite struct DocumentationTests {
    /// Whether `scripts/setup --servers` could install the package that builds the site.
    static let isInstalled = access(Tool.root + "/.build/mkdocs/bin/mkdocs", X_OK) == 0

    @Test(.enabled(if: isInstalled))
    func `the website is built without warnings, and works in a browser without a network`() throws
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
        for page in [
            "index", "start", "DataModel", "PredicateLanguage", "Observing", "NumberedMigrations",
            "REPL", "Studio", "Transfer", "ComingFromRealm", "LuaAPI", "api/results",
            "examples/first-steps", "swift/documentation/moonpool/store/index",
        ] {
            #expect(access("\(site)/\(page).html", R_OK) == 0, "\(page)")
        }
        guard Browser.isInstalled else { return }
        let server = try Subprocess(
            "/usr/bin/env", ["python3", "-u", "-m", "http.server", "--bind", "127.0.0.1", "0"],
            in: site, environment: ["PATH": "/usr/bin:/bin"])
        // The test process blocks SIGTERM, and its children inherit that.
        defer { server.send(SIGKILL) }
        try server.wait(within: 60) { server.output.contains("port ") }
        let port = try #require(server.output.firstMatch(of: /port (\d+)/)).1
        let browser = try Browser()
        for root in ["http://127.0.0.1:\(port)", "file://\(site)"] {
            try browser.open("\(root)/LuaAPI.html")
            try browser.expect(
                "document.querySelectorAll('a[href*=\"#results-\"]').length > 20", "true")
            try browser.open("\(root)/api/results.html")
            try browser.expect("document.querySelectorAll('pre code .kd').length > 10", "true")
            try browser.type("f")
            try browser.expect("document.activeElement.ariaLabel", "Search")
            try browser.type("observe")
            try browser.expect(
                "[...document.querySelectorAll('.md-search-result a')].some((link) => link.textContent.includes('observe'))",
                "true")
            try browser.expect(
                "performance.getEntriesByType('resource').map((one) => one.name).filter((name) => !name.startsWith('\(root)'))",
                "")
            #expect(try browser.messages() == [], "\(root)")
        }
        try browser.open("http://127.0.0.1:\(port)/swift.html")
        try browser.run("one('link', 'Store').click()")
        try browser.expect("document.querySelector('h1')?.textContent.trim()", "Store")
        #expect(try browser.messages() == [])
    }
}
