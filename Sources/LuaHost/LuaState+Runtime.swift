import CLuaFiles
import CLuaShims

// The program's own Lua files: those in `Sources/CLuaFiles/lua`, which are part of the binary.
//
// Each file has its own globals. The standard functions that it sees are copies that were made when the state was
// created, so that no script can change what these files call.

/// The text of one of the program's own Lua files.
package enum RuntimeFile {
    /// Returns the text of a file, such as `migrate.lua`.
    ///
    /// The file must exist.
    package static func text(_ name: String) -> String {
        guard let text = lua_file_text(name) else {
            preconditionFailure("there is no Lua file \(name)")
        }
        return String(cString: text)
    }

    /// Returns the lines of a file.
    package static func lines(_ name: String) -> [String] {
        guard var line = lua_file_text(name) else {
            preconditionFailure("there is no Lua file \(name)")
        }
        var lines: [String] = []
        while line.pointee != 0 {
            let length = strcspn(line, "\n")
            lines.append(
                String(
                    decoding: UnsafeRawBufferPointer(start: line, count: length), as: UTF8.self))
            line += length + (line[length] == 0 ? 0 : 1)
        }
        return lines
    }

    /// Returns the names of the files in a folder, such as `api/`, in the order of `files.S`.
    package static func names(in folder: String) -> [String] {
        var names: [String] = []
        var index: Int32 = 0
        while let name = lua_file_name(index).map({ String(cString: $0) }) {
            if name.hasPrefix(folder) { names.append(name) }
            index += 1
        }
        return names
    }
}

extension LuaState {
    /// The functions and tables that every file of the program can use: Lua's own library, and what the host adds.
    package var runtime: LuaTable {
        let L = stack
        shim_push_standard(L)
        return LuaTable(reference: popReference(L))
    }

    /// Returns what one of the program's own files returns, such as the table of `prompt/text.lua`.
    ///
    /// The file must exist. It runs when it is first used in this state. Inside it, `require "prompt/text"` returns the
    /// result of another file.
    package func runtimeFile(_ name: String) throws(LuaError) -> LuaValue {
        if let known = runtimeFiles[name] { return known }
        if runtimeFiles.isEmpty { installRuntimeRequire() }
        guard let text = lua_file_text(name + ".lua") else {
            preconditionFailure("there is no Lua file \(name).lua")
        }
        let result = try loadRuntime(text, name).call([]).first ?? .nil
        runtimeFiles[name] = result
        return result
    }

    /// Compiles code of the program itself, which sees the same globals as its files.
    package func loadRuntime(_ text: String, name: String) throws(LuaError) -> LuaFunction {
        if runtimeFiles.isEmpty { installRuntimeRequire() }
        return try loadRuntime(Array(text.utf8CString), name)
    }

    private func loadRuntime(
        _ text: UnsafePointer<CChar>, _ name: String
    ) throws(LuaError) -> LuaFunction {
        let L = stack
        // The name in brackets, like that of C functions, tells that the code is not the user's.
        try check(shim_load_runtime(L, text, "=[moonpool \(name).lua]"), on: L)
        return LuaFunction(reference: popReference(L))
    }

    private func installRuntimeRequire() {
        runtime["require"] = .function(
            makeFunction("require") { [weak self] call in
                guard let self else { return .none }
                return try call.answer(runtimeFile(call.text(1)))
            })
    }
}

/// The standard libraries of Lua that a state has.
public struct LuaLibraries: OptionSet, Sendable {
    /// The bits, in the order in which `lua` opens its libraries.
    public let rawValue: UInt32
    /// Creates a set from bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The base library: `print`, `pairs`, `pcall` and other global functions.
    public static let base = LuaLibraries(rawValue: 1)
    /// The library `package`, with `require`.
    public static let package = LuaLibraries(rawValue: 1 << 1)
    /// The library `coroutine`.
    public static let coroutine = LuaLibraries(rawValue: 1 << 2)
    /// The library `table`.
    public static let table = LuaLibraries(rawValue: 1 << 3)
    /// The library `io`.
    public static let io = LuaLibraries(rawValue: 1 << 4)
    /// The library `os`.
    public static let os = LuaLibraries(rawValue: 1 << 5)
    /// The library `string`.
    public static let string = LuaLibraries(rawValue: 1 << 6)
    /// The library `math`.
    public static let math = LuaLibraries(rawValue: 1 << 7)
    /// The library `utf8`.
    public static let utf8 = LuaLibraries(rawValue: 1 << 8)
    /// The library `debug`, which gives a script access to all internals of Lua.
    public static let debug = LuaLibraries(rawValue: 1 << 9)

    /// All libraries.
    public static let all = LuaLibraries(rawValue: (1 << 10) - 1)
    /// The libraries without access to resources outside of the state.
    public static let confined: LuaLibraries = [.base, .coroutine, .table, .string, .math, .utf8]
}

/// The command line of the process.
package enum ProgramArguments {
    /// The name of the program and its arguments.
    ///
    /// Unlike `CommandLine.arguments`, available even if `/proc` is not mounted.
    package static var words: [String] {
        var words: [String] = []
        while let word = shim_program_word(Int32(words.count)) {
            words.append(String(cString: word))
        }
        return words
    }

    /// Overwrites passwords and tokens in the memory that `ps` shows: those in addresses, and the values of `--password` and
    /// `--token`.
    ///
    /// Read ``words`` before.
    package static func hideSecrets() {
        var isSecret = false
        var index: Int32 = 0
        while let word = shim_program_word(index) {
            index += 1
            let bytes = UnsafeBufferPointer(start: word, count: strlen(word)).map {
                UInt8(bitPattern: $0)
            }
            let memory = UnsafeMutablePointer(mutating: word)
            for range in isSecret ? [0..<bytes.count] : secrets(of: bytes) {
                for offset in range { memory[offset] = CChar(UInt8(ascii: "x")) }
            }
            isSecret = ["--password", "--token"].contains { bytes.elementsEqual($0.utf8) }
        }
    }

    /// Returns the offsets of the secret bytes of a word.
    private static func secrets(of bytes: [UInt8]) -> [Range<Int>] {
        var found: [Range<Int>] = []
        for option in ["--password=", "--token="] where bytes.starts(with: option.utf8) {
            found.append(option.utf8.count..<bytes.count)
        }
        guard bytes.contains("://".utf8) else { return found }
        var begin = 0
        for (offset, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: "@"): found.append(begin..<offset)
            case UInt8(ascii: "/"), UInt8(ascii: ","): begin = offset + 1
            default: break
            }
        }
        if let parameter = bytes.firstRange(of: "password=".utf8) {
            let rest = bytes[parameter.upperBound...].prefix { $0 != UInt8(ascii: "&") }
            found.append(rest.startIndex..<rest.endIndex)
        }
        return found
    }
}
