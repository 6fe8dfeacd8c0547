import EventLoops
import LuaHost
import ObjectStore
import Reference
import StoreBindings
import SystemCalls

/// Finds the text of a Lua function in the source of its chunk.
struct FunctionText {
    private let module: StoreModule

    init(_ module: StoreModule) { self.module = module }

    /// Returns the text of a function that uses only its parameters and globals: `function(m) … end`.
    ///
    /// Throws `invalid_argument` if the source is not known, or if the function uses a local of another function.
    func text(of function: LuaFunction) throws -> String {
        guard let debug = module.state.runtime["debug"].table,
            let info = try debug["getinfo"].function?.call([.function(function), .text("Su")])
                .first?.table,
            let chunk = info["source"].text, let first = info["linedefined"].integer,
            let last = info["lastlinedefined"].integer, first > 0
        else { throw unknown("a function whose source is not known") }
        for number in 1...max(1, info["nups"].integer ?? 0) {
            let name = try debug["getupvalue"].function?.call([
                .function(function), .integer(number),
            ]).first?.text
            if let name, name != "_ENV" {
                throw unknown("a function that uses the local '\(name)'")
            }
        }
        let shown = info["short_src"].text ?? chunk
        guard let source = source(of: chunk, shown) else {
            throw unknown("a function of \(shown), whose source is not known")
        }
        let found = Self.functions(in: source, from: Int(first), to: Int(last))
        let wanted = CodeIdentity.checksum(of: [function])
        let equal = found.first {
            let chunk = try? module.state.load("return " + $0, name: "=function")
            return (try? chunk?.call([]).first?.function).map { CodeIdentity.checksum(of: [$0]) }
                == wanted
        }
        guard let text = equal ?? (found.count == 1 ? found[0] : nil) else {
            throw unknown(
                "a function on line \(first) of \(shown), which has several functions; write it on lines of its own"
            )
        }
        return text
    }

    private func unknown(_ what: String) -> StoreError {
        StoreError(
            .invalidArgument,
            "a change of the schema was made with \(what), so a migration cannot repeat it; write the migration with "
                + "moonpool migrate plan")
    }

    private func source(of chunk: String, _ shown: String) -> String? {
        if let known = module.chunkSource?(shown) { return known }
        guard chunk.hasPrefix("@"),
            let bytes = ProcessServices.read(String(chunk.dropFirst()), limit: 4 << 20)
        else { return chunk.hasPrefix("@") || chunk.hasPrefix("=") ? nil : chunk }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the functions that begin and end on these lines, without their names.
    static func functions(in source: String, from first: Int, to last: Int) -> [String] {
        let bytes = Array(source.utf8)
        func line(of offset: Int) -> Int { 1 + bytes[..<offset].count { $0 == UInt8(ascii: "\n") } }
        return SourceParser.functions(in: source).filter {
            line(of: $0.lowerBound) == first && line(of: $0.upperBound) == last
        }.map { "function" + String(decoding: bytes[$0], as: UTF8.self) }
    }
}
