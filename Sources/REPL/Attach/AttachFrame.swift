/// What goes over the socket between a running script and who is attached to it: a letter, a length, a text.
struct AttachFrame: Equatable, Sendable {
    /// What the text is.
    enum Kind: UInt8, Sendable {
        /// To the script: the beginning; the width of the window, and which script after a blank.
        case hello = 0x68
        /// To the script: an entry.
        case entry = 0x78
        /// To the script: stop what runs.
        case stop = 0x69
        /// From the script: text to show.
        case output = 0x6F
        /// From the script: the entry that runs has failed.
        case failed = 0x66
        /// From the script: the last entry is done with; what the next prompt shows.
        case prompt = 0x70
        /// From the script: this was all; why.
        case end = 0x65
    }

    let kind: Kind
    let text: String

    /// The most bytes of one text.
    static let longest = 1 << 20

    init(_ kind: Kind, _ text: String = "") {
        self.kind = kind
        self.text = text
    }

    /// As bytes; a longer text is cut.
    var bytes: [UInt8] {
        let payload = Array(text.utf8.prefix(Self.longest))
        let length = (0..<4).map { UInt8(truncatingIfNeeded: payload.count >> (24 - 8 * $0)) }
        return [kind.rawValue] + length + payload
    }
}

/// Puts frames together from bytes as they come.
struct AttachFrameReader {
    private var bytes: [UInt8] = []

    /// What came is no frame.
    struct Nonsense: Error {}

    /// Takes bytes; the frames that are whole now.
    mutating func take(_ more: [UInt8]) throws(Nonsense) -> [AttachFrame] {
        bytes += more
        var frames: [AttachFrame] = []
        while let first = bytes.first {
            guard let kind = AttachFrame.Kind(rawValue: first) else { throw Nonsense() }
            guard bytes.count >= 5 else { break }
            let length = bytes[1..<5].reduce(0) { $0 << 8 | Int($1) }
            guard length <= AttachFrame.longest else { throw Nonsense() }
            guard bytes.count >= 5 + length else { break }
            let text = String(decoding: bytes[5..<(5 + length)], as: UTF8.self)
            frames.append(AttachFrame(kind, text))
            bytes.removeFirst(5 + length)
        }
        return frames
    }
}
