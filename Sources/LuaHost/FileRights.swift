#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The files that the functions of a script may access.
///
/// Every function that takes a path from a script checks it. Lua's own `io`, `os` and `loadfile` do not, but a confined
/// script does not have them.
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

    /// Permits access to every file.
    public static let all = FileRights(.everything)
    /// Permits access to no file.
    public static let none = FileRights(.folders(writable: [], readable: []))

    /// Permits access to the files in these folders and their subfolders; a path can also name a single file.
    ///
    /// Files in `reading` can only be read. Symbolic links are resolved before a path is checked. The folders must
    /// exist when this is called; missing folders are ignored. A path such as `/proc/7/fd/3` names a file that is open
    /// in a process, also one without a name.
    public static func folders(_ writing: [String], reading: [String] = []) -> FileRights {
        func entry(_ path: String) -> String? { isDescriptor(path) ? path : resolved(path) }
        return FileRights(
            .folders(writable: writing.compactMap(entry), readable: reading.compactMap(entry)))
    }

    /// Whether every file may be accessed, and therefore all other resources outside of the process too.
    package var isUnlimited: Bool { scope == .everything }

    /// The folders in which files may be read, in the given order.
    package var readableFolders: [String] {
        switch scope {
        case .everything: []
        case .folders(let writable, let readable): writable + readable
        }
    }

    /// Returns the path to open: unchanged if every file may be accessed, otherwise without symbolic links.
    ///
    /// Throws `read_only` or `invalid_argument` if this access is not permitted.
    package func check(_ path: String, for access: Access) throws(FileRefusal) -> String {
        guard case .folders(let writable, let readable) = scope else { return path }
        let isListed =
            writable.contains(path) || access == .reading && readable.contains(path)
        if isListed, Self.isDescriptor(path) { return path }
        guard let file = Self.canonicalPath(of: path) else {
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

    /// Returns the path of a file that exists or could be created, with the links of its folder resolved.
    ///
    /// Returns nil if the path cannot be resolved: the folder is missing, or the name is a link to a missing file.
    private static func canonicalPath(of path: String) -> String? {
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

    /// Whether a path names an open file of a process.
    private static func isDescriptor(_ path: String) -> Bool {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 5 && parts[0] == "" && parts[1] == "proc" && parts[3] == "fd"
            && UInt32(parts[2]) != nil && UInt32(parts[4]) != nil
    }

    private static func resolved(_ path: String) -> String? {
        realpath(path, nil).map { pointer in
            defer { free(pointer) }
            return String(cString: pointer)
        }
    }
}

/// The error of a file access that is not permitted.
package struct FileRefusal: ScriptError, Equatable {
    /// The code: `read_only` if the file may be read, otherwise `invalid_argument`.
    package let scriptCode: String
    /// The message, which names the file.
    package let scriptMessage: String

    init(scriptCode: String, scriptMessage: String) {
        self.scriptCode = scriptCode
        self.scriptMessage = scriptMessage
    }
}

extension LuaCall {
    /// Returns the path in an argument if the script may access the file; absolute if file access is limited.
    ///
    /// Every function that opens a file for a script obtains the path from this function.
    package func path(_ index: Int, for access: FileRights.Access) throws -> String {
        let path = try text(index)
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw argumentError(index, "the path is empty or has a zero byte")
        }
        return try state.files.check(path, for: access)
    }
}
