import Glibc
import Testing

/// What the commands of `moonpool migrate` print and do in thirteen folders.
///
/// `Transcripts/KIND.sh` makes a folder, and `Transcripts/KIND.txt` is the transcript of commands, each of which runs in a
/// copy of the folder. With `MOONPOOL_WRITE_TRANSCRIPTS=1`, the tests write the outcomes of the commands in the
/// transcripts.
@Suite struct MigrateTranscriptTests {
    private static let place = Tool.root + "/Tests/ToolTests/Transcripts"
    static let kinds = TemporaryFolder.names(in: place).filter {
        $0.hasSuffix(".sh") && $0 != "common.sh"
    }.map { String($0.dropLast(3)) }

    @Test(arguments: kinds)
    func `every command does and prints the same`(_ kind: String) throws {
        let folder = try TemporaryFolder()
        let path = "\(Self.place)/\(kind).txt"
        let known = try contents(of: path).split(separator: "\n").map(String.init)
        let commands = known.compactMap { $0.wholeMatch(of: /\$ moonpool migrate (.*)/)?.output.1 }
        let copies = commands.indices.map { "\(folder.path)/\($0)" }
        let script = """
            mkdir "$1" && cd "$1" && sh "$2" && cd .. && for copy in \(copies.joined(separator: " ")); do
              cp -R "$1" $copy
            done
            """
        try Subprocess(
            "/bin/sh", ["-ec", script, "sh", "\(folder.path)/start", "\(Self.place)/\(kind).sh"],
            environment: ["MOONPOOL": Tool.path]
        ).finish().expectSuccess()
        let before = try Self.content("\(folder.path)/start")
        var lines: [String] = []
        for (command, copy) in zip(commands, copies) {
            let outcome = try Tool.run(
                ["migrate"] + command.split(separator: " ").map(String.init), in: copy)
            lines.append("$ moonpool migrate \(command)")
            lines += Self.normalized(outcome.output).map { "  \($0)" }
            lines += Self.normalized(outcome.error).map { "  error: \($0)" }
            if outcome.exitCode != 0 { lines.append("  exit code \(outcome.exitCode)") }
            let after = try Self.content(copy)
            for name in Set(before.keys).union(after.keys).sorted()
            where before[name] != after[name] {
                lines.append(
                    "  \(after[name] == nil ? "removed" : before[name] == nil ? "new" : "changed") \(name)"
                )
                lines += Self.normalized(after[name] ?? "").map { "    \($0)" }
            }
        }
        guard getenv("MOONPOOL_WRITE_TRANSCRIPTS") == nil else {
            let file = try #require(fopen(path, "w"))
            fputs(lines.joined(separator: "\n") + "\n", file)
            fclose(file)
            return
        }
        let changes = lines.difference(from: known).map { change in
            switch change {
            case .remove(let offset, let line, _): "\(offset + 1) - \(line)"
            case .insert(let offset, let line, _): "\(offset + 1) + \(line)"
            }
        }
        #expect(changes.isEmpty, "\(kind).txt\n\(changes.joined(separator: "\n"))")
    }

    /// The texts of the Lua files in a folder; other files count with their names only.
    private static func content(_ folder: String, _ prefix: String = "") throws -> [String: String]
    {
        var result: [String: String] = [:]
        for name in TemporaryFolder.names(in: folder) {
            let path = "\(folder)/\(name)"
            if access(path + "/.", F_OK) == 0 {
                try result.merge(content(path, prefix + name + "/")) { $1 }
            } else {
                result[prefix + name] = name.hasSuffix(".lua") ? try contents(of: path) : ""
            }
        }
        return result
    }

    /// The lines of a text, without what differs from run to run.
    private static func normalized(_ text: String) -> [Substring] {
        text.replacing(/\d{4}-\d\d-\d\dT[\d:.]+Z/, with: "TIME")
            .replacing(/[\d.]+ (s|ms|MiB)\b/) { "N \($0.output.1)" }
            .replacing(/"(seconds|memory|peak_memory)":[\d.e-]+/) { "\"\($0.output.1)\":N" }
            .replacing(/\b[0-9a-f]{16}\b/, with: "CHECKSUM")
            .split(separator: "\n")
    }
}
