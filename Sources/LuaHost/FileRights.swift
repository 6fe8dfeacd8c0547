#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Which files the functions of a script may touch.
///
/// Asked by every function that takes a path from a script. Lua's own `io`, `os` and `loadfile` do not ask: a script that
/// is confined has none of them.
public struct FileRights: Sendable, Equatable {
    /// The kind of access to a file.
    package enum Access: String, Sendable {
        case reading, writing
    }

    private enum Scope: Sendable, Equatable {
        case everything
        case folders(writable: [String], readable: [String])
    }

    private let scope: Scope

    private init(_ scope: Scope) { self.scope = scope }

    /// Every file.
    public static let all = FileRights(.everything)
    /// No file.
    public static let none = FileRights(.folders(writable: [], readable: []))

    /// The files in these folders and in the folders inside of them; a file may be named as well.
    ///
    /// In `reading` they may only be read. Symbolic links are followed before a file is judged. The folders have to exist
    /// when they are named here; those that do not are left out.
    public static func folders(_ writing: [String], reading: [String] = []) -> FileRights {
        FileRights(
            .folders(
                writable: writing.compactMap(resolved), readable: reading.compactMap(resolved)))
    }

    /// Whether every file is allowed, and with them everything outside of the process that is not a file.
    package var isUnlimited: Bool { scope == .everything }

    /// The folders in which files may be read, in the order given.
    package var readableFolders: [String] {
        switch scope {
        case .everything: []
        case .folders(let writable, let readable): writable + readable
        }
    }

    /// The path to use for this one: the same when every file is allowed, else without symbolic links.
    ///
    /// Throws `read_only` or `invalid_argument` when the file may not be touched so.
    package func check(_ path: String, for access: Access) throws(FileRefusal) -> String {
        guard case .folders(let writable, let readable) = scope else { return path }
        guard let file = Self.place(of: path) else {
            throw FileRefusal(
                scriptCode: "invalid_argument",
                scriptMessage: "this script is not allowed to use the file '\(path)'")
        }
        let isIn = { (folder: String) in
            file == folder || file.hasPrefix(folder == "/" ? folder : folder + "/")
        }
        if writable.contains(where: isIn) { return file }
        if readable.contains(where: isIn) {
            if access == .reading { return file }
            throw FileRefusal(
                scriptCode: "read_only",
                scriptMessage:
                    "this script is allowed to read, but not to write, the file '\(path)'")
        }
        throw FileRefusal(
            scriptCode: "invalid_argument",
            scriptMessage: "this script is not allowed to use the file '\(path)'")
    }

    /// Where a file is, or would be made: its folder without links, and its name.
    ///
    /// Nil if that is unknown: the folder is missing, or the name is a link to a missing file.
    private static func place(of path: String) -> String? {
        if path.isEmpty || path.utf8.contains(0) { return nil }
        if let file = resolved(path) { return file }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard let name = parts.last, !name.isEmpty, name != ".", name != ".." else { return nil }
        let folder = parts.dropLast().joined(separator: "/")
        guard let inside = resolved(folder.isEmpty ? (path.hasPrefix("/") ? "/" : ".") : folder)
        else { return nil }
        var byte: CChar = 0
        if readlink(path, &byte, 1) >= 0 { return nil }
        return (inside == "/" ? "" : inside) + "/" + name
    }

    private static func resolved(_ path: String) -> String? {
        realpath(path, nil).map { pointer in
            defer { free(pointer) }
            return String(cString: pointer)
        }
    }
}

/// A file that a script may not touch.
package struct FileRefusal: ScriptError, Equatable {
    /// `read_only` where the file may be read, else `invalid_argument`.
    package let scriptCode: String
    /// Which file.
    package let scriptMessage: String

    init(scriptCode: String, scriptMessage: String) {
        self.scriptCode = scriptCode
        self.scriptMessage = scriptMessage
    }
}

extension LuaCall {
    /// The path of a file that the script may touch so; made absolute when not every file is allowed.
    ///
    /// Every function that opens a file for a script takes its name by this.
    package func path(_ index: Int, for access: FileRights.Access) throws -> String {
        let path = try text(index)
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw argumentError(index, "the path is empty or has a zero byte")
        }
        return try state.files.check(path, for: access)
    }
}
