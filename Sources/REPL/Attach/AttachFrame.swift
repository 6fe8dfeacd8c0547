import LineEditing

/// A message between a running script and an attached prompt: a letter, a length, and a text.
struct AttachFrame: Equatable, Sendable {
    /// The meaning of the text.
    enum Kind: UInt8, Sendable {
        /// The first message to the script: the width of the window, and the name of the script after a space.
        case hello = 0x68
        /// The first message to the script instead of `hello`: run the studio, with its options.
        case program = 0x50
        /// The beginning of the text of the next message.
        case part = 0x2B
        /// A message between the program and its host: a number, a space and a text; no text ends the receiver.
        case message = 0x6D
        /// A message to the script: an entry to run.
        case entry = 0x78
        /// A message to the script: interrupt the running code.
        case stop = 0x69
        /// A message to the script: complete this text, which ends at the cursor.
        case complete = 0x63
        /// A message from the script: the completions, in the encoding of ``Completion/text``; empty for none.
        case completions = 0x43
        /// A message from the script: text to show.
        case output = 0x6F
        /// A message from the script: the running entry has failed.
        case failed = 0x66
        /// A message from the script: the last entry has ended; contains the text of the next prompt.
        case prompt = 0x70
        /// A message from the script: the connection ends; contains the reason.
        case end = 0x65
    }

    let kind: Kind
    let text: String

    /// The maximum length of a text in bytes; the beginning of a longer text is in messages of its own.
    static let longest = 16 << 20

    init(_ kind: Kind, _ text: String = "") {
        self.kind = kind
        self.text = text
    }

    /// The encoded message.
    var bytes: [UInt8] {
        var rest = Array(text.utf8)[...]
        var result: [UInt8] = []
        while rest.count > Self.longest {
            result += Self.encoded(.part, rest.prefix(Self.longest))
            rest.removeFirst(Self.longest)
        }
        return result + Self.encoded(kind, rest)
    }

    private static func encoded(_ kind: Kind, _ payload: ArraySlice<UInt8>) -> [UInt8] {
        assert(payload.count <= longest, "a message has at most the longest text")
        let length = (0..<4).map { UInt8(truncatingIfNeeded: payload.count >> (24 - 8 * $0)) }
        return [kind.rawValue] + length + payload
    }
}

/// Assembles messages from received bytes.
struct AttachFrameReader {
    private var bytes: [UInt8] = []
    /// The beginning of the next text.
    private var parts: [UInt8] = []

    /// The received bytes are not a message.
    struct Nonsense: Error {}

    /// Adds received bytes and returns the complete messages.
    mutating func take(_ more: [UInt8]) throws(Nonsense) -> [AttachFrame] {
        bytes += more
        var frames: [AttachFrame] = []
        while let first = bytes.first {
            guard let kind = AttachFrame.Kind(rawValue: first) else { throw Nonsense() }
            guard bytes.count >= 5 else { break }
            let length = bytes[1..<5].reduce(0) { $0 << 8 | Int($1) }
            guard length <= AttachFrame.longest else { throw Nonsense() }
            guard bytes.count >= 5 + length else { break }
            parts += bytes[5..<(5 + length)]
            bytes.removeFirst(5 + length)
            guard kind != .part else { continue }
            frames.append(AttachFrame(kind, String(decoding: parts, as: UTF8.self)))
            parts = []
        }
        return frames
    }
}

extension Completion {
    /// The completion as lines: the number of characters to replace, the suffix, and the candidates with their details.
    var text: String {
        let lines = candidates.map { name in name + (details[name].map { "\t" + $0 } ?? "") }
        return (["\(replacing)", suffix] + lines).joined(separator: "\n")
    }

    /// Decodes a completion; nil for any other text.
    init?(text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.count > 2, let replacing = Int(lines[0]), replacing >= 0 else { return nil }
        let parts = lines.dropFirst(2).map { $0.split(separator: "\t", maxSplits: 1) }
        self.init(
            replacing: replacing, candidates: parts.map { String($0.first ?? "") },
            suffix: lines[1],
            details: Dictionary(
                parts.filter { $0.count == 2 }.map { (String($0[0]), String($0[1])) },
                uniquingKeysWith: { first, _ in first }))
    }
}
