import Foundation
import Testing

/// A browser without a window, which tests control through WebDriver.
final class Browser {
    static var isInstalled: Bool {
        ["chromium", "chromedriver"].allSatisfy { access("/usr/bin/" + $0, X_OK) == 0 }
    }

    private let driver: Subprocess
    private let port: UInt16
    private var session = ""
    private let home: TemporaryFolder

    private var downloads: String { home.path }

    init(width: Int = 1280, height: Int = 800) throws {
        home = try TemporaryFolder()
        driver = try Subprocess(
            "/usr/bin/chromedriver", ["--port=0"], in: home.path,
            environment: ["HOME": home.path, "TMPDIR": home.path])
        try driver.wait(within: 60) { [driver] in
            driver.output.contains(/started successfully on port \d+/)
        }
        port = try #require(
            driver.output.firstMatch(of: /started successfully on port (\d+)/)
                .flatMap { UInt16($0.1) })
        let options = [
            "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--window-size=\(width),\(height)", "--user-data-dir=\(home.path)/browser",
            ]
        ]
        let capabilities: [String: Any] = [
            "goog:chromeOptions": options, "goog:loggingPrefs": ["browser": "ALL"],
        ]
        let created =
            try call("POST", "", ["capabilities": ["alwaysMatch": capabilities]])
            as? [String: Any]
        session = "/" + (try #require(created?["sessionId"] as? String))
        try resize(width, height)
        try command(
            "Browser.setDownloadBehavior", ["behavior": "allow", "downloadPath": home.path])
    }

    deinit { _ = try? call("DELETE", "") }

    private func call(_ method: String, _ path: String, _ body: [String: Any]? = nil) throws -> Any
    {
        // A browser can be slow to start beside other programs.
        let connection = try RawConnection(port: port, patience: 180)
        let text = body.map(SocketClient.text) ?? ""
        connection.send(
            "\(method) /session\(session)\(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
                + "Content-Type: application/json\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)"
        )
        // The driver keeps the connection open.
        let answer = try JSONSerialization.jsonObject(with: Data(connection.readBody()))
        let value = try #require((answer as? [String: Any])?["value"])
        if let error = value as? [String: Any], let message = error["message"] as? String,
            error["error"] != nil
        {
            throw Failure(description: message)
        }
        return value
    }

    private func command(_ name: String, _ parameters: [String: Any]) throws {
        _ = try call("POST", "/goog/cdp/execute", ["cmd": name, "params": parameters])
    }

    /// Sets the size of the page, without the frame of the browser.
    func resize(_ width: Int, _ height: Int) throws {
        try command(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": false])
    }

    struct Failure: Error, CustomStringConvertible { let description: String }

    func open(_ address: String) throws { _ = try call("POST", "/url", ["url": address]) }

    /// Runs code in the page and returns its result.
    @discardableResult  // because many calls only act
    func run(_ code: String) throws -> Any {
        try call("POST", "/execute/sync", ["script": Self.helpers + code, "args": []])
    }

    /// Finds elements by their roles and names, as assistive technology does.
    private static let helpers = """
        const implicit = { link: "a", heading: "h1", button: "button", navigation: "nav", complementary: "aside",
          dialog: "dialog", checkbox: "[type=checkbox]", spinbutton: "[type=number]", combobox: "select", alert: ".none",
          textbox: "textarea, input[type=text]:not([role]), input:not([type])", table: "table", list: "ul", article: "article" }
        const nameOf = (e) => e.getAttribute("aria-label") ?? e.closest("label")?.textContent.trim() ?? e.textContent.trim()
        const all = (role, name) => [...document.querySelectorAll(`[role=${role}], ${implicit[role] ?? ".none"}`)]
          .filter((e) => e.checkVisibility() && (name === undefined || nameOf(e) === name))
        const one = (role, name) => all(role, name)[0]
        const text = (role, name) => one(role, name)?.textContent ?? null
        const cells = (row) => [...row.querySelectorAll("[role=gridcell]")].map((c) => c.textContent)
        const selected = () => all("row").filter((r) => r.ariaSelected === "true").map(nameOf)
        const rows = () => all("row").filter((r) => r.querySelector("[role=gridcell]"))

        """

    /// Evaluates an expression until it equals a text.
    func expect(
        _ expression: String, _ expected: String, at location: SourceLocation = #_sourceLocation
    ) throws {
        var found = ""
        let deadline = ContinuousClock.now + .seconds(60)
        repeat {
            // An element can still be missing.
            do { found = "\(try run("return String(\(expression))"))" } catch { found = "\(error)" }
            if found == expected { return }
            usleep(20_000)
        } while ContinuousClock.now < deadline
        // The following steps depend on this one.
        throw Failure(
            description: "line \(location.line): \(expression) is '\(found)', not '\(expected)'")
    }

    /// Presses keys, such as "a" or the private characters of WebDriver.
    func type(_ keys: String, holding modifier: String? = nil) throws {
        func action(_ type: String, _ key: String) -> [String: String] {
            ["type": type, "value": key]
        }
        let presses = keys.flatMap {
            [action("keyDown", String($0)), action("keyUp", String($0))]
        }
        let actions =
            modifier.map { [action("keyDown", $0)] + presses + [action("keyUp", $0)] } ?? presses
        _ = try call(
            "POST", "/actions",
            ["actions": [["type": "key", "id": "keyboard", "actions": actions]]])
    }

    /// Presses Tab until an expression is true for the focused element `e`.
    func tab(until expression: String, at location: SourceLocation = #_sourceLocation) throws {
        let code = "const e = document.activeElement; return String(\(expression))"
        for _ in 0..<100 {
            if "\(try run(code))" == "true" { return }
            try type(Self.tab)
        }
        throw Failure(description: "line \(location.line): Tab does not lead to \(expression)")
    }

    /// Presses Tab until an element with a name has the focus.
    func tab(to name: String, at location: SourceLocation = #_sourceLocation) throws {
        try tab(until: "nameOf(e) === `\(name)`", at: location)
    }

    /// Chooses a file in an element.
    func choose(_ path: String, in selector: String) throws {
        let found =
            try call("POST", "/element", ["using": "css selector", "value": selector])
            as? [String: String]
        let element = try #require(found?.values.first)
        _ = try call("POST", "/element/\(element)/value", ["text": path])
    }

    /// Waits for a download and returns its path.
    func waitForDownload(_ name: String) throws -> String {
        let file = "\(downloads)/\(name)"
        let deadline = ContinuousClock.now + .seconds(20)
        while access(file, R_OK) != 0, ContinuousClock.now < deadline { usleep(20_000) }
        return file
    }

    /// Writes a picture of the page.
    func picture(to path: String) throws {
        let data = try #require(
            (call("GET", "/screenshot") as? String).flatMap { Data(base64Encoded: $0) })
        try data.write(to: URL(fileURLWithPath: path))
    }

    /// The errors that the page has reported.
    func messages() throws -> [String] {
        let entries = try call("POST", "/se/log", ["type": "browser"]) as? [[String: Any]] ?? []
        return entries.compactMap { $0["message"] as? String }
    }

    static let enter = "\u{E007}"
    static let down = "\u{E015}"
    static let escape = "\u{E00C}"
    static let end = "\u{E010}"
    static let tab = "\u{E004}"
    static let left = "\u{E012}"
    static let right = "\u{E014}"
    static let delete = "\u{E017}"
    static let shift = "\u{E008}"
    static let f2 = "\u{E032}"
    static let control = "\u{E009}"
    static let alt = "\u{E00A}"
}
