import EventLoops
import SystemCalls

/// Excerpts of a script around the source location in a message.
enum SourceExcerpt {
    /// Returns the source location at the start of a message: `zoo.lua:12: text`.
    static func location(in message: String) -> (path: String, line: Int)? {
        // A path can contain colons, so the location ends at the first `:digits:`.
        let parts = message.split(separator: ":", omittingEmptySubsequences: false)
        for index in parts.indices.dropFirst() where index + 1 < parts.endIndex {
            if let line = Int(parts[index]), line > 0 {
                return (parts[..<index].joined(separator: ":"), line)
            }
        }
        return nil
    }

    /// Returns up to three lines, with a mark at the line of the message; nil if the message names no readable file.
    static func of(_ message: String) -> String? {
        guard let (path, line) = location(in: message),
            let bytes = ProcessServices.read(path, limit: 4 << 20), !bytes.contains(0)
        else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.indices.contains(line - 1) else { return nil }
        let numbers = max(1, line - 1)...min(lines.count, line + 1)
        let width = "\(numbers.upperBound)".count
        return numbers.filter { $0 == line || !lines[$0 - 1].isEmpty }.map { number in
            let label = "\(number)"
            let padding = String(repeating: " ", count: width - label.count)
            return "  \(number == line ? ">" : " ") \(padding)\(label) | \(lines[number - 1])"
        }.joined(separator: "\n")
    }
}
