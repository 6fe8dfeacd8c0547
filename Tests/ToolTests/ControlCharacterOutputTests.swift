import Glibc
import Testing

/// Control characters of data in the output of commands.
@Suite struct ControlCharacterOutputTests {
    private let folder = try! TemporaryFolder()

    private static let schema = #"D = { id = "string primary", name = "string" }"#

    private func makeStore(_ folder: TemporaryFolder) throws {
        _ = try folder.write(
            """
            local store <close> = moonpool.open { path = "a.moonpool", schema = { \(Self.schema) } }
            store:write(function() store:create("D", { id = "k\\nl", name = "a\\nb\\27[31m\\u{9b}2J" }) end)
            """, to: "make.lua")
        try Tool.run(["make.lua"], in: folder.path).expectSuccess()
    }

    private func expectNoControls(_ text: String) {
        let controls = text.unicodeScalars.filter {
            $0.properties.generalCategory == .control && $0 != "\n" && $0 != "\t"
        }
        #expect(controls.isEmpty, "\(text.debugDescription)")
    }

    @Test func `A dry run shows each changed value on one line`() throws {
        try makeStore(folder)
        _ = try folder.write(
            """
            return {
              schema = { D = { id = "string primary", name = "string", copy = "string" } },
              up = function(m) m:each("D", function(old, new) new.copy = old.name end) end,
            }
            """, to: "0001_copy.lua")
        let dry = try Tool.run(
            ["migrate", "up", "a.moonpool", "--dir", ".", "--dry-run"], in: folder.path)
        expectNoControls(dry.output)
        #expect(
            dry.lines.contains {
                $0.contains(#"id = "k\nl": copy = nil → "a\nb\x1B[31m\u{9B}2J""#)
            }, "\(dry.output)\(dry.error)")
    }

    @Test func `Errors and summaries escape names and values`() throws {
        try makeStore(folder)
        let failed = try Tool.run(
            ["a.moonpool", "-e", #"store:objects("D\27[31mRED")"#], in: folder.path)
        expectNoControls(failed.error)
        #expect(failed.exitCode == 1 && failed.error.contains(#"D\x1B[31mRED"#))
        _ = try folder.write("a,b\n1,\"x\u{1B}[2J\"\n2,3\n", to: "f\u{1B}[31m.csv")
        let opened = try Tool.run(["f\u{1B}[31m.csv"], input: "", in: folder.path)
        expectNoControls(opened.output + opened.error)
        #expect(opened.output.contains(#"imported f\x1B[31m.csv: 2 "#), "\(opened.error)")
        let imported = try Tool.run(
            ["import", "n.moonpool", "f\u{1B}[31m.csv", "--class", "F"], in: folder.path)
        expectNoControls(imported.output + imported.error)
        #expect(imported.exitCode == 0)
    }

    @Test func `A watched change is one line, as JSON too`() throws {
        try makeStore(folder)
        for option in [[], ["--json"]] {
            let watch = try Subprocess(Tool.path, ["watch", folder.path + "/a.moonpool"] + option)
            try watch.wait { watch.output.contains(option.isEmpty ? "at version" : "$") }
            try Tool.run(
                [
                    "a.moonpool", "-e",
                    #"store:write(function() local d = store:objects("D")[1] d.name = d.name .. "\127" end)"#,
                ], in: folder.path
            ).expectSuccess()
            try watch.wait { watch.output.contains(#"31m"#) }
            watch.send(SIGTERM)
            let outcome = try watch.finish()
            expectNoControls(outcome.output)
            #expect(!outcome.lines.contains { $0.hasPrefix("b") || $0.hasPrefix("l") })
        }
    }
}
