import SystemCalls

/// The history of entries, from this and earlier sessions.
///
/// Each entry is one item, even if it has several lines.
///
/// The file has one entry per line, with `\n` for line breaks and `\\` for backslashes. It is only appended to, so
/// several sessions can write to it. If it has grown to twice the limit when it is read, it is truncated to its newest
/// entries. If the file cannot be read or written, the history is not saved, but the session continues.
package final class EditHistory {
    /// The maximum number of entries.
    package let limit: Int
    private let file: String?
    /// The entries, oldest first.
    package private(set) var entries: [String] = []

    /// Reads the file if it exists.
    package init(file: String?, limit: Int = 2_000) {
        self.file = file
        self.limit = limit
        guard let file, let bytes = ProcessServices.read(file, limit: .max) else { return }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        entries = lines.suffix(limit).map { Self.decode(String($0)) }
        if lines.count > 2 * limit {
            HistoryFile.replace(file, with: entries.map { Self.encode($0) + "\n" }.joined())
        }
    }

    /// Adds an entry in memory and to the file, unless it is blank or repeats the last one.
    ///
    /// Returns whether it was added.
    @discardableResult  // because only the editor, which keeps a copy, needs the result
    package func add(_ entry: String) -> Bool {
        var entry = entry
        while let last = entry.last, last.isWhitespace { entry.removeLast() }
        if entry.isEmpty || entry == entries.last { return false }
        entries.append(entry)
        if entries.count > limit { entries.removeFirst() }
        assert(entries.count <= limit, "the history keeps at most its limit")
        if let file { HistoryFile.append(file, Self.encode(entry) + "\n") }
        return true
    }

    /// Returns the newest one-line entry that begins with a text and is longer.
    func newest(startingWith text: String) -> String? {
        entries.last { $0.count > text.count && $0.hasPrefix(text) && !$0.contains("\n") }
    }

    static func encode(_ entry: String) -> String {
        var line = ""
        for scalar in entry.unicodeScalars {
            switch scalar {
            case "\\": line += "\\\\"
            case "\n": line += "\\n"
            case "\r": line += "\\r"
            default: line.unicodeScalars.append(scalar)
            }
        }
        return line
    }

    static func decode(_ line: String) -> String {
        var entry = ""
        var isEscaped = false
        for scalar in line.unicodeScalars {
            if isEscaped {
                isEscaped = false
                switch scalar {
                case "n": entry += "\n"
                case "r": entry += "\r"
                default: entry.unicodeScalars.append(scalar)
                }
            } else if scalar == "\\" {
                isEscaped = true
            } else {
                entry.unicodeScalars.append(scalar)
            }
        }
        return entry
    }
}

extension EditHistory {
    /// The history of the user: `$XDG_STATE_HOME/moonpool/history`.
    package static var ofUser: EditHistory {
        let folder = TerminalEnvironment.folder("XDG_STATE_HOME", fallback: ".local/state")
        return EditHistory(file: folder.map { $0 + "/moonpool/history" })
    }
}

/// Writes the file of the history.
///
/// Entries can contain private data, so only the owner can read the file. Failures are ignored.
private enum HistoryFile {
    /// Appends the text in one system call, so that entries of several sessions never mix.
    static func append(_ path: String, _ text: String) {
        var index = path.startIndex
        while let slash = path[index...].dropFirst().firstIndex(of: "/") {
            _ = ProcessServices.makeFolder(String(path[..<slash]), isPrivate: true)
            index = slash
        }
        _ = ProcessServices.write(text, to: path, appending: true, isPrivate: true)
    }

    static func replace(_ path: String, with text: String) {
        let temporary = "\(path).\(ProcessServices.identifier)"
        ProcessServices.remove(temporary)
        if ProcessServices.write(text, to: temporary, isPrivate: true) != nil
            || ProcessServices.rename(temporary, to: path) != nil
        {
            ProcessServices.remove(temporary)
        }
    }
}
