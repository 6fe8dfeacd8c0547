import Foundation
import Testing

/// Compares the API that programs use with the checked-in list, so that each change is deliberate.
@Suite struct PublicSymbolTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private struct SymbolGraph: Decodable {
        struct Symbol: Decodable {
            struct Identifier: Decodable { let precise: String }
            struct Fragment: Decodable { let spelling: String }
            let identifier: Identifier
            let pathComponents: [String]
            let declarationFragments: [Fragment]?
        }
        let symbols: [Symbol]
    }

    /// The symbols that `import` of the module makes visible, one per line.
    private func symbols(of module: String, reexporting modules: String) throws -> String {
        let manager = FileManager.default
        let products = try manager.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let build = URL(filePath: products).deletingLastPathComponent().path
        let output = manager.temporaryDirectory.appending(path: "moonpool-symbols-\(UUID())").path
        try manager.createDirectory(atPath: output, withIntermediateDirectories: true)
        defer { try? manager.removeItem(atPath: output) }

        let sources = Self.root.appending(path: "Sources")
        let moduleMaps =
            try manager.contentsOfDirectory(atPath: sources.path)
            .map { sources.appending(path: "\($0)/module.modulemap").path }
            .filter(manager.fileExists)
            + ["CFibers", "CLuaFiles", "CLuaShims", "CNATS", "CPostgres"].map {
                "\(build)/\($0).build/module.modulemap"
            }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            [
                "swift-symbolgraph-extract", "-module-name", module, "-I", "\(build)/Modules",
                "-target", "\(Self.architecture)-unknown-linux-gnu", "-minimum-access-level",
                "public", "-skip-synthesized-members",
                "-experimental-allowed-reexported-modules=\(modules)", "-output-dir", output,
                "-Xcc", "-I\(sources.path)/CLuaShims/include", "-Xcc", "-I/usr/include/lua5.4",
            ] + moduleMaps.flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
        let errors = Pipe()
        process.standardError = errors
        try process.run()
        let message = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(String(decoding: message, as: UTF8.self))")

        let data = try Data(contentsOf: URL(filePath: "\(output)/\(module).symbols.json"))
        let graph = try JSONDecoder().decode(SymbolGraph.self, from: data)
        let lines = graph.symbols.filter { !$0.identifier.precise.contains("SYNTHESIZED") }
            .map { symbol in
                let declaration = (symbol.declarationFragments ?? []).map(\.spelling).joined()
                let path = symbol.pathComponents.dropLast().map { "\($0)." }.joined()
                return path + ": " + declaration.split(separator: "\n").joined(separator: " ")
            }
        return Set(lines).sorted().map { "\($0)\n" }.joined()
    }

    private static var architecture: String {
        #if arch(x86_64)
            "x86_64"
        #else
            "aarch64"
        #endif
    }

    @Test(
        .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/exe")),
        arguments: [
            ("Moonpool", "ObjectStore,Decimals,ColumnStorage"),
            ("MoonpoolScripting", "ScriptHost,LuaHost"),
        ])
    func `the public API matches the checked-in list`(module: String, reexported: String) throws {
        let found = try symbols(of: module, reexporting: reexported)
        let list = Self.root.appending(path: "Tests/MoonpoolTests/\(module).symbols.txt")
        if ProcessInfo.processInfo.environment["MOONPOOL_WRITE_SYMBOLS"] != nil {
            try found.write(to: list, atomically: true, encoding: .utf8)
        }
        let expected = try String(contentsOf: list, encoding: .utf8)
        let difference = found.split(separator: "\n").map(String.init)
            .difference(from: expected.split(separator: "\n").map(String.init))
        for change in difference {
            switch change {
            case .insert(_, let line, _):
                Issue.record("new in \(module): \(line)\nrun scripts/public-symbols if intended")
            case .remove(_, let line, _):
                Issue.record("gone from \(module): \(line)\nrun scripts/public-symbols if intended")
            }
        }
    }
}
