import LMDBStorage
import Synchronization

/// The identity of a commit: all copies of a store that contain the commit have the same one, and no other commit has it.
///
/// It is a hash of the identity before it, of the commit's entry in the history, and of a number
/// that no other commit has: a process begins with a random one and counts. The commit of a follower has the identity of
/// the publisher's commit. Two files that have an identity in common have the same data at that commit.
package struct CommitIdentity: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    static let size = 16
    private static let seed = Atomic<UInt64>(.random(in: 0 ... .max))

    /// Reads an identity.
    @inline(__always)
    init(at place: UnsafeRawPointer) {
        high = place.loadUnaligned(as: UInt64.self)
        low = place.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    }

    /// Creates the identity of a new commit with this entry, which contains the identity before it.
    init(of entry: UnsafeRawBufferPointer) {
        (high, low) = ValueSeal.hash128(
            entry, seed: Self.seed.wrappingAdd(1, ordering: .relaxed).newValue)
    }

    /// Returns an identity for a commit whose entry is not known yet.
    package static func random() -> CommitIdentity {
        var generator = SystemRandomNumberGenerator()
        let words = [generator.next(), generator.next()]
        return words.withUnsafeBytes { CommitIdentity(at: $0.baseAddress!) }
    }

    /// Whether this is the value for no identity.
    var isZero: Bool { high == 0 && low == 0 }

    /// Appends the identity, or zeros for none.
    static func append(_ identity: CommitIdentity?, to writer: inout ByteWriter) {
        writer.word(identity?.high ?? 0)
        writer.word(identity?.low ?? 0)
    }

    func replace(in writer: inout ByteWriter, at position: Int) {
        writer.replace(at: position, word: high, bytes: 8)
        writer.replace(at: position + 8, word: low, bytes: 8)
    }
}

extension CommitIdentity: LosslessStringConvertible {
    /// The 32 hexadecimal digits.
    package var description: String {
        [high, low].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    package init?(_ description: String) {
        guard description.utf8.count == 32, let high = UInt64(description.prefix(16), radix: 16),
            let low = UInt64(description.suffix(16), radix: 16)
        else { return nil }
        self.high = high
        self.low = low
    }
}
